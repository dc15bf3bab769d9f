// What each hop of a turn took: its model, its time, its tokens and what it cost.
import { blocks, outputs, tagged, type Journal } from "./journal";

/** What a model used, as the protocol says it; an absent count is unknown. */
interface Usage {
  model?: string;
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  reasoningTokens?: number;
  cachedInputTokens?: number;
  cost?: number;
}

export interface Hop {
  hop: number;
  /** How often its stream was asked for. */
  tries: number;
  model: string;
  askedAt: number;
  /** When the first bytes of the answer came. */
  firstAt: number | null;
  endedAt: number | null;
  input: number | null;
  output: number | null;
  cached: number | null;
  reasoning: number | null;
  /** In US dollars, where the provider or the table of prices says it. */
  cost: number | null;
  tools: ToolTime[];
}

export interface ToolTime {
  index: number;
  name: string;
  beganAt: number;
  endedAt: number | null;
}

const OPEN = /^open_stream open:(\d+):(\d+)$/;
const TOOL = /^run_tool tool:(\d+):(\d+)$/;

/** The hops, up to an entry and with it. */
export function hops(journal: Journal, upTo: number): Hop[] {
  const all = new Map<number, Hop>();
  for (const { at, name, input, outputs: names } of journal.entries.slice(0, upTo + 1)) {
    heard(all, at, name, input);
    for (const output of names) given(all, journal, at, output);
  }
  for (const { output } of outputs(journal, upTo)) {
    if (output.effect) nameTool(all, output.effect);
  }
  for (const block of blocks(journal, upTo)) {
    const hop = all.get(block.hop);
    if (hop && block.content.type === "usage") count(hop, block.content.usage as Usage[]);
  }
  return [...all.values()].sort((one, other) => one.hop - other.hop);
}

/** What the run asked for. */
function given(all: Map<number, Hop>, journal: Journal, at: number, output: string): void {
  const open = OPEN.exec(output);
  if (open) {
    const hop = Number(open[1]);
    const known = all.get(hop);
    if (known) known.tries += 1;
    else all.set(hop, begun(hop, at, journal.model));
  }
  const tool = TOOL.exec(output);
  if (tool) {
    const [, hop, index] = tool;
    const tools = all.get(Number(hop))?.tools;
    if (!tools?.some((other) => other.index === Number(index))) tools?.push({ index: Number(index), name: `tool ${index}`, beganAt: at, endedAt: null });
  }
}

function begun(hop: number, askedAt: number, model: string): Hop {
  return { hop, tries: 1, model, askedAt, firstAt: null, endedAt: null, input: null, output: null, cached: null, reasoning: null, cost: null, tools: [] };
}

/** What came to the run. */
function heard(all: Map<number, Hop>, at: number, name: string, input: unknown): void {
  const effect = (input as { effect?: unknown } | null)?.effect;
  if (effect === undefined) return;
  const [kind, id] = tagged(effect);
  const { hop: number, index } = (id ?? {}) as { hop?: number; index?: number };
  const hop = all.get(number ?? -1);
  if (!hop) return;
  if (kind === "open") {
    if (name === "received") hop.firstAt ??= at;
    // A connection may stay open after the answer: its last bytes are its end.
    if (name === "received" || hop.firstAt === null) hop.endedAt = at;
  } else if (kind === "tool" && name === "tool_finished") {
    const tool = hop.tools.find((other) => other.index === index);
    if (tool) tool.endedAt = at;
  }
}

function nameTool(all: Map<number, Hop>, [id, effect]: [unknown, unknown]): void {
  const [kind, given] = tagged(effect);
  if (kind !== "run_tool") return;
  const { hop, index } = tagged(id)[1] as { hop: number; index: number };
  const { invocation } = given as { invocation: { name?: string } };
  const tool = all.get(hop)?.tools.find((other) => other.index === index);
  if (tool && invocation.name !== undefined) tool.name = invocation.name;
}

function count(hop: Hop, all: Usage[]): void {
  const sum = (part: (usage: Usage) => number | undefined): number | null => {
    const known = all.map(part).filter((value) => value !== undefined);
    return known.length === 0 ? null : known.reduce((one, other) => one + other, 0);
  };
  const models = all.map(({ model }) => model).filter((model) => model !== undefined);
  if (models.length > 0) hop.model = [...new Set(models)].join(", ");
  hop.input = sum(({ inputTokens }) => inputTokens);
  hop.output = sum(({ outputTokens }) => outputTokens);
  hop.cached = sum(({ cachedInputTokens }) => cachedInputTokens);
  hop.reasoning = sum(({ reasoningTokens }) => reasoningTokens);
  hop.cost = sum(({ cost }) => cost);
}
