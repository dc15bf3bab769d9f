import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { openai } from "@ai-sdk/openai";
import { generateText, isStepCount, tool } from "ai";
import { z } from "zod";

const terminal = createInterface(process.stdin, process.stdout);
const pay = tool({
  description: "Pays a bill.",
  inputSchema: z.object({ euros: z.int() }),
  execute: ({ euros }) => `paid ${euros} euros`,
});
const settings = { model: openai.chat("gpt-5-mini"), tools: { pay }, toolApproval: { pay: "user-approval" }, stopWhen: isStepCount(10) };
const left = existsSync("bill.json");
const messages = left ? JSON.parse(readFileSync("bill.json", "utf8")) : [{ role: "user", content: "Pay my bill." }];
if (!left) {
  const { responseMessages } = await generateText({ ...settings, messages });
  messages.push(...responseMessages);
  writeFileSync("bill.json", JSON.stringify(messages));
}
const parts = messages.at(-1).content;
const content = [];
for (const { approvalId, toolCallId } of parts.filter(({ type }) => type === "tool-approval-request")) {
  const { input } = parts.find((part) => part.type === "tool-call" && part.toolCallId === toolCallId);
  const approved = (await terminal.question(`Pay ${input.euros} euros? `)) === "yes";
  content.push({ type: "tool-approval-response", approvalId, approved });
}
const { text } = await generateText({ ...settings, messages: [...messages, { role: "tool", content }] });
console.log(text);
rmSync("bill.json");
terminal.close();
