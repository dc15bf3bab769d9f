// What a user may say first, by what the server can do.
import { signal } from "@preact/signals";
import { getCapabilities } from "./api";

export const examples = signal<string[]>([]);

/** By a tool that answers them. */
const OF_TOOLS: [string, string[]][] = [
  ["get_secret_number", ["What are Alice's and Bob's secret numbers?", "Change Alice's number", "Do something slow", "Think before you answer"]],
  ["calculator", ["What is 17.5% of 2,340?"]],
  ["clock", ["What time is it in UTC?"]],
];

export async function learnExamples(): Promise<void> {
  try {
    const { tools } = await getCapabilities();
    const names = new Set(tools?.items?.map((tool) => tool.name));
    examples.value = OF_TOOLS.flatMap(([name, words]) => (names.has(name) ? words : []));
  } catch {
    // The page does without.
  }
}
