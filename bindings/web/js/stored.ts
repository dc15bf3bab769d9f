// Turns that are stored: how they begin, and are found again. Loaded where there is a store.

import { type Known, Durable, type StoredTurn, Writer } from "./durable.js";
import { RunMachine } from "./machine.js";
import { Presence } from "./presence.js";
import { titleOf } from "./session.js";
import type { Setup } from "./setup.js";
import { StoreError } from "./store.js";
import type { Key } from "./thread.js";
import type { Run, Turn } from "./turn.js";
import type { Claimed, Json, Message, ThreadKey, TurnKey, TurnRecord, WhenBusy } from "./types.js";
import type { Waiting } from "./waiting.js";

/** A run, and the generation with which its turn is written. @internal */
export type Made = Omit<Run, "writer"> & { generation: number };

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
  started(before: { messages: Message[]; sharedState: Json }): Omit<Run, "writer">;
}

/** The turns of a store. @internal */
export class StoredTurns {
  constructor(
    private readonly durable: Durable,
    private readonly setup: Setup,
  ) {}

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

  /** Claims the turns that no page drives, each with its run, or the reason why there is none. */
  async recover(setup: Setup, isUnderWay: (thread: ThreadKey) => boolean): Promise<{ key: TurnKey; presence: Presence; made?: Made; error?: unknown }[]> {
    const orphans = await this.durable.orphans(isUnderWay);
    return Promise.all(
      orphans.map(async ({ key, claimed, presence }) => {
        try {
          const once: Waiting = { warn: () => {}, trouble: () => {}, signal: AbortSignal.abort() };
          const machine = await this.#claimed(key, claimed, setup, once);
          return { key, presence, made: { machine, outputs: machine.pollOutputs(), generation: claimed.generation } };
        } catch (error) {
          presence.end();
          return { key, presence, error };
        }
      }),
    );
  }

  /** Attends a turn from its beginning to its end, so that other pages know of it. */
  async attend(stored: Omit<StoredTurn, "generation">, turn: Turn<any>, waiting: Waiting, make: (presence: Presence) => Promise<Made>, attending?: Presence): Promise<Run> {
    const presence = attending ?? (await Presence.begin());
    void turn.ended.then(() => presence.end());
    presence.onCancel = () => {
      waiting.warn("another page cancelled the turn, to send on its thread");
      turn.cancel();
    };
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
