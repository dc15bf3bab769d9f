// A turn that may cost a cent, and what it has cost, in Node.
import init, { Agent, openai } from "stepwell";

await init();
const getSecretNumber = {
  name: "get_secret_number",
  description: "The secret number of a person.",
  parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  execute: ({ name }) => ({ alice: 42, bob: 7 })[name.toLowerCase()],
};
const agent = new Agent({
  model: openai("gpt-4o-mini", { baseUrl: process.argv[2] }),
  tools: [getSecretNumber],
  limits: { maxCost: 0.01 },
});
const { text, cost, stopReason } = await agent.run("What are Alice's and Bob's secret numbers?");
console.log(text, `It cost $${cost}:`, stopReason);
