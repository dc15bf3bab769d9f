// A question, two tool calls, an answer, in Node: with the key in OPENAI_API_KEY, or with a base URL as the argument.
import init, { Agent } from "stepwell";

await init();
const numbers = { alice: 42, bob: 7 };
const getSecretNumber = {
  name: "get_secret_number",
  description: "The secret number of a person.",
  parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  execute: ({ name }) => numbers[name.toLowerCase()],
};
const [baseUrl] = process.argv.slice(2);
const agent = new Agent({
  provider: "openai",
  model: "gpt-4o-mini",
  baseUrl,
  key: process.env.OPENAI_API_KEY,
  tools: [getSecretNumber],
});
for await (const event of agent.send("What are Alice's and Bob's secret numbers?")) {
  if (event.type === "TEXT_MESSAGE_CONTENT") process.stdout.write(event.delta);
  // A wrong key, say, is told with the last event.
  if (event.type === "completed" && event.outcome.problem) {
    const { message, advice } = event.outcome.problem;
    console.error(`${message}; ${advice}`);
    process.exitCode = 1;
  }
}
console.log();
