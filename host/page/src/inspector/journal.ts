// A journal: what came to a run, with the times, and what came of it. See `stepwell_core::journal` for the format.

/** A message of a run's input or history, as far as it is looked at. */
interface Said {
  role: string;
  id: string;
  content?: unknown;
}

/** What a run gave out, where the journal has it in full. */
export interface Output {
  effect?: [unknown, Record<string, unknown> | string];
  event?: Record<string, unknown> | string;
}

/** One input, and what came of it. */
export interface Entry {
  at: number;
  /** The input's name: `received`, `tool_finished`, … */
  name: string;
  input: unknown;
  /** The state after it; none if the host stopped before it was known. */
  state: string | null;
  refused: string | null;
  /** What came of it, by name. */
  outputs: string[];
  /** The same in full. */
  full: Output[];
}

export interface Journal {
  program: string;
  thread: string;
  provider: string;
  model: string;
  isRedacted: boolean;
  /** Whether it says what came of the inputs in full, not by name alone. */
  isFull: boolean;
  /** Whether it was closed: nothing comes after it. */
  isClosed: boolean;
  history: number;
  entries: Entry[];
}

/** An enum of Rust's in its serde form: the variant's name, and what is in it. */
export function tagged(value: unknown): [string, unknown] {
  if (typeof value === "string") return [value, null];
  if (typeof value !== "object" || value === null) return ["", null];
  return Object.entries(value)[0] ?? ["", null];
}

interface Line {
  at?: number;
  input?: unknown;
  restored?: unknown;
  revived?: unknown;
  gives?: { state: string; outputs?: string[]; refused?: string };
  outputs?: Output[];
  end?: unknown;
}

/**
 * Reads a journal. A last line that was cut off is left out, as that of a host that was stopped.
 * @throws if it is none, or is damaged
 */
export function parse(text: string): Journal {
  const lines = text.split("\n");
  const head = JSON.parse(lines[0] ?? "") as {
    stepwell_journal: number;
    program: string;
    thread_id: string;
    redacted?: boolean;
    config: { endpoint: { provider: string; model: string } };
    history: { messages: Said[] } | null;
  };
  if (head.stepwell_journal !== 1) throw new Error(`it is of version ${head.stepwell_journal}, and this page reads version 1`);
  const journal: Journal = {
    program: head.program,
    thread: head.thread_id,
    provider: head.config.endpoint.provider,
    model: head.config.endpoint.model,
    isRedacted: head.redacted === true,
    isFull: false,
    isClosed: false,
    history: head.history?.messages.length ?? 0,
    entries: [],
  };
  for (const [index, line] of lines.entries()) {
    if (index === 0 || line.trim() === "") continue;
    let read: Line;
    try {
      read = JSON.parse(line) as Line;
    } catch {
      if (index === lines.length - 1) break;
      throw new Error(`line ${index + 1} is damaged`);
    }
    take(journal, read);
  }
  return journal;
}

function take(journal: Journal, line: Line): void {
  const last = journal.entries.at(-1);
  if (line.gives) {
    if (!last) return;
    last.state = line.gives.state;
    last.outputs = line.gives.outputs ?? [];
    last.refused = line.gives.refused ?? null;
    last.full = line.outputs ?? [];
    journal.isFull ||= last.full.length > 0;
  } else if (line.end !== undefined) {
    journal.isClosed = true;
  } else {
    const back = line.restored !== undefined ? "restored" : line.revived !== undefined ? "revived" : null;
    const [name, input] = back === null ? tagged(line.input) : [back, line.restored ?? line.revived];
    journal.entries.push({ at: line.at ?? 0, name, input, state: null, refused: null, outputs: [], full: [] });
  }
}

/** Everything that a run gave out in full, up to an entry and with it. */
export function* outputs(journal: Journal, upTo: number): Generator<{ at: number; output: Output }> {
  for (const entry of journal.entries.slice(0, upTo + 1)) {
    for (const output of entry.full) yield { at: entry.at, output };
  }
}

/** The states that the run went through, from its first, without repeats. */
export function states(journal: Journal, upTo: number, initial: string): string[] {
  const all = [initial];
  for (const { state } of journal.entries.slice(0, upTo + 1)) {
    if (state !== null && state !== all.at(-1)) all.push(state);
  }
  return all;
}

/** A request to the provider. */
export interface Request {
  at: number;
  hop: number;
  attempt: number;
  method: string;
  url: string;
  headers: [string, string][];
  body: unknown;
}

export function requests(journal: Journal, upTo: number): Request[] {
  const all: Request[] = [];
  for (const { at, output } of outputs(journal, upTo)) {
    if (!output.effect) continue;
    const [kind, effect] = tagged(output.effect[1]);
    if (kind !== "open_stream") continue;
    const { hop, attempt } = tagged(output.effect[0])[1] as { hop: number; attempt: number };
    const { request } = effect as { request: Omit<Request, "at" | "hop" | "attempt"> };
    all.push({ at, hop, attempt, ...request });
  }
  return all;
}

/** A finished piece of the turn. */
export interface Block {
  sequence: number;
  hop: number;
  content: { type: string } & Record<string, unknown>;
}

export function blocks(journal: Journal, upTo: number): (Block & { at: number })[] {
  const bySequence = new Map<number, Block & { at: number }>();
  for (const { at, output } of outputs(journal, upTo)) {
    if (!output.effect) continue;
    const [kind, effect] = tagged(output.effect[1]);
    if (kind !== "persist") continue;
    // What could not be stored is given out again.
    for (const block of (effect as { blocks: Block[] }).blocks) bySequence.set(block.sequence, { at, ...block });
  }
  return [...bySequence.values()].sort((one, other) => one.sequence - other.sequence);
}
