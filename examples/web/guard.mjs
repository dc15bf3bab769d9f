// A guard: it refuses a call, and an answer; with a base URL as the argument.
import init, { Agent, HookRefusal, openai } from "stepwell";

await init();
const getSecretNumber = {
  name: "get_secret_number",
  description: "The secret number of a person.",
  parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  execute: ({ name }) => (name.toLowerCase() === "alice" ? 42 : 7),
};
const guard = {
  name: "guard",
  beforeTool: ({ arguments: { name } }) => {
    if (name.toLowerCase() === "bob") throw new HookRefusal("Bob's is his own");
  },
  afterAnswer: ({ text }) => {
    if (text.includes("42")) throw new HookRefusal("it tells the number");
  },
};
const agent = new Agent({ model: openai("gpt-4o-mini", { baseUrl: process.argv[2] }), tools: [getSecretNumber], hooks: [guard] });
const run = agent.run("What are Alice's and Bob's secret numbers?");
console.log(await run.then(({ text }) => text, (refused) => refused.message));
