// Turns that are stored: how they begin, and are found again. Loaded where there is a store.

import type { Engine } from "./engine.js";
import { nothingWaits } from "./error.js";
import { type Known, type Transcript, Durable, type StoredTurn, Writer } from "./durable.js";
import { RunMachine } from "./machine.js";
import type { RunSetup } from "./options.js";
import { Presence } from "./presence.js";
import type { Reply } from "./reply.js";
import { pendingOf, titleOf } from "./stored-calls.js";
import type { Setup } from "./setup.js";
import { isLost, type Store, StoreError } from "./store.js";
import type { Key, Thread } from "./thread.js";
import type { Run, Turn } from "./turn.js";
import type { Claimed, Json, Message, Pending, ThreadKey, TurnKey, TurnRecord, Unfinished, WhenBusy } from "./types.js";
import type { Waiting } from "./waiting.js";

/** How often a reply may find that yet another page has taken the turn over. */
const MAX_REPLY_TRIES = 5;

/** The time in which another page must take a reply. */
const REPLY_TIMEOUT_MS = 5_000;

/** A turn that no page drove, claimed to be continued here. @internal */
export interface Claim {
  turn: string;
  made: Made;
  presence: Presence;
}

/** An unfinished turn of a store, which continues here if it can. @internal */
export interface Continuing<T> {
  key: TurnKey;
  thread: Thread;
  turn?: Turn<T>;
  error?: unknown;
}

/** A run, and the generation with which its turn is written. @internal */
export type Made = Omit<Run, "writer"> & { generation: number };

/** Calls of the store that are made once. */
const ONCE: Waiting = { warn: () => {}, trouble: () => {}, signal: AbortSignal.abort() };

/** A turn that is about to begin. @internal */
export interface Beginner {
  key: Key;
  turn: string;
  /** What the user says. */
  said: { message?: Message } | undefined;
  /** The turn of the store that it follows instead of the last one. */
  from: { parent: string | undefined } | { resent: string } | undefined;
  whenBusy: WhenBusy;
  known(): Known;
  /** Makes the instructions, if a function does. */
  instructed(before: { messages: Message[] }, signal: AbortSignal): Promise<void>;
  started(before: Transcript): Omit<Run, "writer">;
}

/** The turns of a store. @internal */
export class StoredTurns {
  private readonly durable: Durable;

  constructor(
    store: Store,
    waits: boolean,
    private readonly setup: Setup,
  ) {
    this.durable = new Durable(store, waits, setup.config, setup.clock);
  }

  /** Stores that a turn begins. */
  begin(beginner: Beginner, waiting: Waiting, { owner }: Presence): Promise<Made> {
    const { durable } = this;
    const { key: thread, turn, said, whenBusy } = beginner;
    return durable.untilFree(whenBusy, async () => {
      const from = await this.#from(beginner);
      const { parent, isNew, ...before } = await durable.before(thread, from, beginner.known, whenBusy, waiting);
      await beginner.instructed(before, waiting.signal);
      const run = beginner.started(before);
      try {
        // The title of the thread, if this is its first turn.
        const title = parent === undefined ? titleOf(run.machine.messages) : "";
        // History that no stored turn contains is stored with this one.
        const { messages, sharedState } = before;
        const isUnknown = isNew && (messages.length > 0 || Object.keys(sharedState ?? {}).length > 0);
        const history = { messages: messages as unknown as Json[], state: sharedState };
        const checkpoint = run.machine.checkpoint();
        const kept = { ...(isUnknown && { history }), ...(checkpoint !== undefined && { checkpoint }) };
        const begun = { key: { thread, turn }, ...said, owner, ...kept, atMs: this.setup.clock.now() };
        const generation = await durable.begin({ ...begun, ...(parent !== undefined && { parent }), ...(title && { title }) }, waiting);
        return { ...run, generation };
      } catch (error) {
        run.machine.free();
        throw error;
      }
    });
  }

  async #from({ key: thread, from }: Beginner): Promise<{ parent: string | undefined } | undefined> {
    if (!from || "parent" in from) return from;
    const { resent: turn } = from;
    const earlier = await this.durable.once(() => this.durable.store.turn({ thread, turn }));
    if (!earlier) throw new StoreError("noTurn", `the store has no turn \`${turn}\` in this thread`);
    return { parent: earlier.parent };
  }

  /** Claims the turn of a snapshot, whose machine may be older than the store's data. */
  async revive(machine: RunMachine, snapshot: string, thread: Key, setup: Setup, whenBusy: WhenBusy, waiting: Waiting, { owner }: Presence): Promise<Made> {
    const { durable } = this;
    const key = { thread, turn: machine.turn };
    const claimed = await durable.claim(key, owner, whenBusy, waiting);
    if (!claimed) {
      // The turn was begun without this store.
      const begin = () => durable.begin({ key, owner, checkpoint: snapshot, atMs: setup.clock.now() }, waiting);
      const generation = await durable.untilFree("error", begin);
      return { machine, outputs: machine.pollOutputs(), generation };
    }
    if (claimed.checkpoint === undefined) return { machine, outputs: machine.pollOutputs(), generation: claimed.generation };
    machine.free();
    const newer = await this.#claimed(key, claimed, setup, waiting);
    return { machine: newer, outputs: newer.pollOutputs(), generation: claimed.generation };
  }

  /** The run of a claimed turn. */
  #claimed(key: TurnKey, claimed: Claimed, { config, clock, journal }: Setup, waiting: Waiting): Promise<RunMachine> {
    return this.durable.revived(key, claimed, config, clock.now(), waiting, journal !== undefined);
  }

  /** Continues the turns that no page drives, or says why one cannot continue. */
  async recover<T>(engine: Engine, threadOf: (key: ThreadKey) => Thread, run: RunSetup): Promise<Continuing<T>[]> {
    const orphans = await this.durable.orphans((key) => threadOf(key).turns.size > 0);
    return Promise.all(
      orphans.map(async ({ key, claimed, presence }) => {
        const thread = threadOf(key.thread);
        try {
          const made = await this.#made(key, claimed, run.setup);
          return { key, thread, turn: engine.continue<T>(thread, { turn: key.turn, made, presence }, run) };
        } catch (error) {
          presence.end();
          return { key, thread, error };
        }
      }),
    );
  }

  /** What the unfinished turn of a thread waits for, as it is stored. */
  async pending(thread: ThreadKey): Promise<Pending[]> {
    const unfinished = await this.#unfinished(thread);
    return unfinished ? this.#waits(unfinished) : [];
  }

  async #unfinished(thread: ThreadKey): Promise<Unfinished | undefined> {
    return (await this.durable.once(() => this.durable.store.thread(thread)))?.unfinished;
  }

  async #waits({ key }: Unfinished): Promise<Pending[]> {
    const turn = await this.durable.once(() => this.durable.store.turn(key));
    return turn ? pendingOf(turn) : [];
  }

  /**
   * Passes a reply to the page that drives the unfinished turn of a thread. If no page drives it, the turn continues here,
   * and is returned.
   */
  async reply<T>(engine: Engine, thread: Thread, id: string, reply: Reply, run: RunSetup): Promise<Turn<T> | undefined> {
    for (let tries = 1; ; tries += 1) {
      const unfinished = await this.#unfinished(thread.key);
      if (!unfinished) throw nothingWaits();
      const { key, owner, generation: seen } = unfinished;
      if ((await Presence.all()).has(owner)) {
        await this.#pass(owner, id, reply);
        return undefined;
      }
      if (!(await this.#waits(unfinished)).some((pending) => pending.id === id)) throw nothingWaits();
      const presence = await Presence.begin();
      let made: Made;
      try {
        const claimed = await this.durable.once(() => this.durable.store.claim(key, seen, presence.owner));
        made = await this.#made(key, claimed, run.setup);
      } catch (error) {
        presence.end();
        // Another page was quicker.
        if (error instanceof StoreError && isLost(error) && tries < MAX_REPLY_TRIES) continue;
        throw error;
      }
      const turn = engine.continue<T>(thread, { turn: key.turn, made, presence }, run);
      await turn.begun;
      turn.reply(id, reply);
      return turn;
    }
  }

  /** A claimed turn as it continues. */
  async #made(key: TurnKey, claimed: Claimed, setup: Setup): Promise<Made> {
    const machine = await this.#claimed(key, claimed, setup, ONCE);
    return { machine, outputs: machine.pollOutputs(), generation: claimed.generation };
  }

  async #pass(owner: string, id: string, reply: Reply): Promise<void> {
    const { clock } = this.setup;
    let timer: unknown;
    const tooLate = new Promise<void>((late) => (timer = clock.setTimeout(late, REPLY_TIMEOUT_MS)));
    try {
      await Presence.reply(owner, id, reply, tooLate);
    } finally {
      clock.clearTimeout(timer);
    }
  }

  /** Attends a turn from its beginning to its end, so that other pages know of it. */
  async attend(stored: Omit<StoredTurn, "generation">, turn: Turn<any>, waiting: Waiting, make: (presence: Presence) => Promise<Made>, attending?: Presence): Promise<Run> {
    const presence = attending ?? (await Presence.begin());
    void turn.ended.then(() => presence.end());
    presence.onCancel = () => {
      waiting.warn("another page cancelled the turn, to send on its thread");
      turn.cancel();
    };
    presence.onReply = (id, reply) => turn.reply(id, reply);
    const { generation, ...run } = await make(presence);
    const now = () => this.setup.clock.now();
    return { ...run, writer: new Writer(this.durable, { ...stored, generation }, now, { ...waiting, stop: turn.cancel }) };
  }

  /** As `Durable.load`. */
  load(thread: ThreadKey, known: string | undefined): Promise<Known | undefined> {
    return this.durable.load(thread, known);
  }

  /** The turns of a thread. */
  turns(thread: ThreadKey): Promise<TurnRecord[]> {
    return this.durable.once(() => this.durable.store.turns(thread));
  }

  /** Deletes a thread, and returns whether there was one. */
  delete(thread: ThreadKey): Promise<boolean> {
    return this.durable.once(() => this.durable.store.deleteThread(thread));
  }
}
