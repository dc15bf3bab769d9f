// What is known of a conversation in this page, and the turns of it that are under way.

import type { Known } from "./durable.js";
import type { InUse } from "./in-use.js";
import type { RunRegistry } from "./registry.js";
import type { Setup } from "./setup.js";
import type { StoredTurns } from "./stored.js";
import type { Compaction, Json, Message, ThreadKey } from "./types.js";
import type { Turn } from "./turn.js";

/** A conversation's key with all its fields. @internal */
export type Key = Required<ThreadKey>;

/** A conversation's key, complete, and as one text. @internal */
export function named(given: ThreadKey | string): [Key, string] {
  const { server = "", room = "", thread } = typeof given === "string" ? { thread: given } : given;
  return [{ thread, room, server }, JSON.stringify([server, room, thread])];
}

/** Where conversations are kept: a store, or this page's memory. @internal */
export interface Place {
  /** The agent's setup for turns that are kept here. */
  setup: Setup;
  /** Loads what keeps the turns; absent for the page's memory. */
  stored: (() => Promise<StoredTurns>) | undefined;
  threads: InUse<Thread>;
}

/** The turns under way of all agents that share a registry, by their conversations. */
const LIVE_TURNS = new WeakMap<RunRegistry, Map<string, Set<Turn<any>>>>();

/** A conversation, or the one turn of a run that is none. @internal */
export class Thread implements Known {
  readonly name: string;
  /** The stored turn with which the conversation ends. */
  last: string | undefined;
  /** What requests no longer carry of it. */
  declare compaction?: Compaction | null;
  /** The turns that have not ended: more than one where turns wait for each other. */
  readonly turns = new Set<Turn<any>>();

  constructor(
    readonly key: Key,
    readonly place: Place,
    readonly registry: RunRegistry | undefined,
    public messages: Message[] = [],
    public sharedState: Json = {},
  ) {
    this.name = named(key)[1];
  }

  /** The turns of the conversation that have not ended, of any agent that shares the registry. */
  others(): Turn<any>[] {
    const live = this.registry && LIVE_TURNS.get(this.registry)?.get(this.name);
    return [...new Set([...this.turns, ...(live ?? [])])];
  }

  /** The turn under way. */
  get live(): Turn<any> | undefined {
    return this.others().find((turn) => turn.isUnderWay);
  }

  add(turn: Turn<any>): void {
    this.turns.add(turn);
    if (!this.registry) return;
    const live = LIVE_TURNS.get(this.registry) ?? new Map<string, Set<Turn<any>>>();
    LIVE_TURNS.set(this.registry, live);
    live.set(this.name, (live.get(this.name) ?? new Set()).add(turn));
  }

  remove(turn: Turn<any>): void {
    this.turns.delete(turn);
    const live = this.registry && LIVE_TURNS.get(this.registry);
    const turns = live?.get(this.name);
    turns?.delete(turn);
    if (turns?.size === 0) live?.delete(this.name);
  }

  /** Forgets the conversation, and cancels its turns. */
  forget(): void {
    const turns = [...this.turns];
    for (const turn of turns) this.remove(turn);
    Object.assign(this, { messages: [], sharedState: {}, compaction: null, last: undefined });
    for (const turn of turns) turn.cancel();
  }
}
