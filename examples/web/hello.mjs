// A question, two tool calls, an answer, in Node: with the key in OPENAI_API_KEY, or with a base URL as the argument.
import init, { Agent, openai } from "stepwell";

await init();
const numbers = { alice: 42, bob: 7 };
const getSecretNumber = {
  name: "get_secret_number",
  description: "The secret number of a person.",
  parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  execute: ({ name }) => numbers[name.toLowerCase()],
};
const agent = new Agent({ model: openai("gpt-4o-mini", { baseUrl: process.argv[2] }), tools: [getSecretNumber] });
try {
  const turn = agent.stream("What are Alice's and Bob's secret numbers?");
  for await (const text of turn.textStream) process.stdout.write(text);
  console.log();
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}
