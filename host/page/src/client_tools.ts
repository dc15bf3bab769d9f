// The page's own tools: the model is offered them with every turn, and the page runs them.
import { ApiError, bringResult } from "./api";
import { server } from "./server";
import { setTheme, theme, type Theme } from "./theme";
import type { Turn } from "./view";

interface ClientTool {
  name: string;
  description: string;
  parameters: object;
  run: (args: Record<string, unknown>) => Promise<string> | string;
}

const THEMES: Theme[] = ["light", "dark", "system"];

const TOOLS: ClientTool[] = [
  {
    name: "get_location",
    description: "Where the user is, as latitude and longitude. The browser asks the user whether it may say so.",
    parameters: { type: "object", properties: {}, additionalProperties: false },
    run: async () => {
      const { coords } = await new Promise<GeolocationPosition>((found, failed) => {
        if (!("geolocation" in navigator)) return failed(new Error("the browser knows no location"));
        navigator.geolocation.getCurrentPosition(found, ({ message }) => failed(new Error(message || "the user does not share the location")), { timeout: 30_000 });
      });
      const { latitude, longitude, accuracy } = coords;
      return JSON.stringify({ latitude, longitude, accuracyInMetres: Math.round(accuracy) });
    },
  },
  {
    name: "set_theme",
    description: "Makes the page light or dark, or as the user's system is.",
    parameters: { type: "object", properties: { theme: { enum: THEMES } }, required: ["theme"], additionalProperties: false },
    run: ({ theme: wanted }) => {
      const known = THEMES.find((name) => name === wanted);
      if (known === undefined) throw new Error(`there is no theme ${JSON.stringify(wanted)}: it is one of ${THEMES.join(", ")}`);
      setTheme(known);
      return `The theme is ${theme.value} now.`;
    },
  },
];

/** What the model is offered: nothing that the server has a tool of its own for. */
export function offered(): Omit<ClientTool, "run">[] {
  const own = server.value?.tools?.items;
  if (!own) return [];
  const taken = new Set(own.map(({ name }) => name));
  return TOOLS.filter(({ name }) => !taken.has(name)).map(({ name, description, parameters }) => ({ name, description, parameters }));
}

/** The calls that were answered here. */
const answered = new Set<string>();

/** Runs the calls of a turn that wait for the page. A tab that is not looked at leaves them to another. */
export function runCalls(thread: string, turn: Turn): void {
  if (document.hidden) return;
  for (const call of turn.messages.flatMap(({ calls }) => calls)) {
    const tool = TOOLS.find(({ name }) => name === call.name);
    const key = `${thread}/${turn.id}/${call.id}`;
    if (!tool || call.status !== "deferred" || answered.has(key)) continue;
    answered.add(key);
    void run(tool, call.args)
      .then((result) => bringResult(thread, turn.id, call.id, result))
      .catch((error) => {
        // Another tab was first, or the turn is over. Else it is tried again with the next event.
        if (!(error instanceof ApiError) || error.isTransient) answered.delete(key);
      });
  }
}

async function run(tool: ClientTool, args: string): Promise<{ content: string } | { error: string }> {
  try {
    const given = (args.trim() === "" ? {} : JSON.parse(args)) as Record<string, unknown> | null;
    return { content: await tool.run(given ?? {}) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
