// A session as a file to read.
import { textOf, turnsOf, type Call, type View } from "../view";

export function markdownOf(view: View): string {
  const parts = [`# ${view.title || "Session"}`];
  for (const turn of turnsOf(view)) {
    for (const message of turn.messages) {
      const text = textOf(message.content);
      if (message.role === "user") parts.push("## You", text);
      else if (message.role === "assistant" && text !== "") parts.push("## Answer", text);
      else if (message.role === "reasoning" && text !== "") parts.push(`> ${text.replaceAll("\n", "\n> ")}`);
      for (const call of message.calls) parts.push(callOf(call));
    }
    if (turn.error) parts.push(`*${turn.error.message}*`);
    else if (turn.status === "cancelled") parts.push("*Stopped.*");
  }
  return `${parts.join("\n\n")}\n`;
}

function callOf(call: Call): string {
  const result = call.result === undefined ? "" : `\n→ ${textOf(call.result)}`;
  return fenced(`${call.name}(${call.args}) ${call.status}${result}`);
}

/** A block of code, whatever is in it. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
