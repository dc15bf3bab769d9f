// A tool that asks the user before it runs, in Node: with the key in OPENAI_API_KEY, or with a base URL as the argument.
import { createInterface } from "node:readline/promises";
import init, { Agent, openai } from "stepwell";

await init();
const terminal = createInterface(process.stdin, process.stdout);
const pay = {
  name: "pay",
  description: "Pays a bill.",
  parameters: { type: "object", properties: { euros: { type: "integer" } }, required: ["euros"] },
  requiresApproval: true,
  execute: ({ euros }) => `paid ${euros} euros`,
};
const approver = async ({ arguments: { euros } }) =>
  (await terminal.question(`Pay ${euros} euros? `)) === "yes" || "the user said no";
const agent = new Agent({ model: openai("gpt-5-mini", { baseUrl: process.argv[2] }), tools: [pay], approver });
console.log((await agent.run("Pay my bill of 5 euros.")).text);
terminal.close();
