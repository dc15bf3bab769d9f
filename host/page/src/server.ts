// What the server says of itself: who answers, what it can do, and what a user may say first.
import { computed, signal } from "@preact/signals";
import { ofBrowser } from "./storage";
import { getCapabilities } from "./api";

/** As far as the page asks. */
export interface Capabilities {
  tools?: { items?: { name: string }[] };
  multimodal?: { input?: { image?: boolean; audio?: boolean; pdf?: boolean } };
  custom?: { provider?: string; model?: string; models?: string[]; record?: string };
}

export const server = signal<Capabilities | null>(null);

const MODEL = "stepwell.model";

/** The model that the user wants, whether or not this server offers it. */
const wanted = signal(ofBrowser.get(MODEL));

/** The models that there are to choose from, by their names; the first is the usual one. */
export const models = computed(() => server.value?.custom?.models ?? []);

/** The one that answers the next message. */
export const model = computed(() => models.value.find((name) => name === wanted.value) ?? models.value[0] ?? null);

export function chooseModel(name: string): void {
  wanted.value = name;
  ofBrowser.set(MODEL, name);
}

/** By a tool that answers them. */
const OF_TOOLS: [string, string[]][] = [
  ["get_secret_number", ["What are Alice's and Bob's secret numbers?", "Change Alice's number", "Do something slow", "Think before you answer", "Put it on my list", "Ask my app"]],
  ["calculator", ["What is 17.5% of 2,340?"]],
  ["clock", ["What time is it in UTC?"]],
];

export const examples = computed(() => {
  const names = new Set(server.value?.tools?.items?.map((tool) => tool.name));
  return OF_TOOLS.flatMap(([name, words]) => (names.has(name) ? words : []));
});

export async function learn(): Promise<void> {
  try {
    server.value = await getCapabilities();
  } catch {
    // The page does without.
  }
}
