// A turn that may cost a cent, and what it has cost, in Node.
import init, { Agent } from "stepwell";

await init();
const getSecretNumber = {
  name: "get_secret_number",
  description: "The secret number of a person.",
  parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  execute: ({ name }) => ({ alice: 42, bob: 7 })[name.toLowerCase()],
};
const agent = new Agent({
  provider: "openai",
  model: "gpt-4o-mini",
  baseUrl: process.argv[2],
  key: process.env.OPENAI_API_KEY,
  tools: [getSecretNumber],
  limits: { maxCost: 0.01 },
});
const { text, usage, outcome } = await agent.send("What are Alice's and Bob's secret numbers?").finish();
console.log(text, `It cost $${usage.cost}:`, outcome.outcome);
