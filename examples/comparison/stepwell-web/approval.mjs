import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import init, { Agent, tool } from "stepwell";
import { z } from "zod";

await init();
const terminal = createInterface(process.stdin, process.stdout);
const pay = tool({
  name: "pay",
  description: "Pays a bill.",
  parameters: z.object({ euros: z.int() }),
  requiresApproval: true,
  execute: ({ euros }) => `paid ${euros} euros`,
});
const approver = async (call) => {
  writeFileSync("bill.json", turn.snapshot);
  return (await terminal.question(`Pay ${call.arguments.euros} euros? `)) === "yes";
};
const bill = new Agent({ model: "openai:gpt-5-mini", tools: [pay], approver }).conversation("bill");
const left = existsSync("bill.json") && readFileSync("bill.json", "utf8");
const turn = left ? bill.revive(left) : bill.stream("Pay my bill.");
console.log((await turn.result).text);
rmSync("bill.json");
terminal.close();
