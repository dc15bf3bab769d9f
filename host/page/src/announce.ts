// What is said to those who cannot see the page. The words of an answer are said when they are whole, not one by one.
import { signal } from "@preact/signals";
import { isFinal, isLimit, isOfRunningTool, textOf, titleOf, type Turn } from "./view";

/** What is said next: quietly, or at once. */
export const polite = signal("");
export const urgent = signal("");

/** So much of an answer is said unasked. */
const MOST = 600;

export function announce(text: string, isUrgent = false): void {
  const region = isUrgent ? urgent : polite;
  // The same words twice are said twice.
  region.value = region.value === text ? `${text}\u00a0` : text;
}

/** Says what is new in a turn. */
export function announceTurn(before: Turn | undefined, now: Turn): void {
  const words: string[] = [];
  const known = new Map(before?.messages.map((message) => [message.id, message]));
  const calls = new Map(before?.messages.flatMap((message) => message.calls).map((call) => [call.id, call]));
  for (const message of now.messages) {
    if (message.role === "assistant" && !message.isOpen && message.content !== "" && known.get(message.id)?.isOpen !== false) {
      const text = textOf(message.content);
      words.push(text.length > MOST ? `${text.slice(0, MOST)}…` : text);
    }
    for (const call of message.calls) {
      const status = calls.get(call.id)?.status;
      if (status === call.status) continue;
      if (call.status === "executing") words.push(`${call.label} is running.`);
      if (isFinal(call.status)) words.push(`${call.label}: ${call.status}.`);
    }
  }
  if (before) {
    for (const compaction of now.compactions.slice(before.compactions.length)) {
      if (!compaction.undone) words.push(`${titleOf(compaction, before.compactions.at(-1))}.`);
    }
  }
  if (before?.status !== now.status) {
    if (now.error) words.push(isLimit(now.error) ? `A limit was reached: ${now.error.message}` : `The answer failed: ${now.error.message}`);
    else if (now.status === "cancelled") words.push("Stopped.");
  }
  if (words.length > 0) announce(words.join(" "));
  const asked = new Set(before?.questions.map((question) => question.id));
  for (const question of now.questions) {
    const what = isOfRunningTool(question) ? "A tool asks you" : "Your approval is asked";
    if (!asked.has(question.id)) announce(`${what}: ${question.message ?? ""}`, true);
  }
}
