// A guard: it refuses a call, and an answer; with a base URL as the argument.
import init, { Agent, HookRefusal } from "stepwell";

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
const agent = new Agent({ provider: "openai", model: "gpt-4o-mini", baseUrl: process.argv[2], key: "key", tools: [getSecretNumber], hooks: [guard] });
const turn = agent.sendAndWait("What are Alice's and Bob's secret numbers?");
console.log(await turn.then(({ text }) => text, (refused) => refused.problem.message));
