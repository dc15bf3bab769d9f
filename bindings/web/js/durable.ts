// Durable turns: what is stored before a turn's first request is sent, and who writes it.

import { RunMachine } from "./machine.js";
import { Presence } from "./presence.js";
import type { Clock } from "./setup.js";
import { conversationOf } from "./stored-calls.js";
import type { Compaction, Claimed, Effect, Json, Message, NewTurn, Outputs, PersistBatch, RunConfig, ThreadKey, TurnKey, Unfinished, WhenBusy } from "./types.js";
import { isLost, isTransient, type Store, StoreError, storeError } from "./store.js";
import { Busy, type Waiting } from "./waiting.js";

/** The time limit of one call. */
const LONGEST_CALL = 30_000;

/**
 * The time in which another page must end a turn that it was asked to cancel. After that the turn is taken from the
 * page.
 */
const CANCEL_TIMEOUT_MS = 5_000;

/** How often a turn that cancels the others of its thread may find that yet another one began first. */
const MAX_BUSY_TRIES = 5;

type Persist = Extract<Effect, { type: "persist" }>;

/** @internal */
export interface Transcript {
  messages: Message[];
  sharedState: Json;
  /** What requests no longer carry of it. */
  compaction?: Compaction | null;
}

/** The page's state of a thread: its conversation, and the stored turn with which it ends. @internal */
export interface Known extends Transcript {
  last: string | undefined;
}

/** A turn that no page drives, claimed. @internal */
export interface Orphan {
  key: TurnKey;
  claimed: Claimed;
  presence: Presence;
}

/** The store of an agent, which begins its turns there. @internal */
export class Durable {
  constructor(
    readonly store: Store,
    readonly waits: boolean,
    private readonly config: RunConfig,
    private readonly clock: Clock,
  ) {}

  /** Makes one call, with a time limit. */
  async once<T>(call: () => Promise<T>): Promise<T> {
    let timer: unknown;
    const late = new Promise<never>((_, fail) => {
      const error = new StoreError("unavailable", `no answer in ${LONGEST_CALL / 1000} s`);
      timer = this.clock.setTimeout(() => fail(error), LONGEST_CALL);
    });
    try {
      return await Promise.race([call(), late]);
    } catch (error) {
      throw storeError(error);
    } finally {
      this.clock.clearTimeout(timer);
    }
  }

  /** The pause after this number of failures. */
  delay(failures: number): number {
    const { firstDelayMs = 500, maxDelayMs = 8_000 } = this.config.retry ?? {};
    return failures === 0 ? 0 : Math.min(firstDelayMs * 2 ** (failures - 1), maxDelayMs);
  }

  async pause(failures: number, signal?: AbortSignal): Promise<void> {
    if (failures === 0 || signal?.aborted) return;
    await new Promise<void>((over) => {
      const done = () => {
        this.clock.clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        over();
      };
      const timer = this.clock.setTimeout(done, this.delay(failures));
      signal?.addEventListener("abort", done);
    });
  }

  /** The problem in words, for the app. */
  waiting({ message }: StoreError, failures: number): string {
    return `the turn waits for its store, and tries again in ${(this.delay(failures) / 1000).toFixed(1)} s: ${message}`;
  }

  /** Tries until the call succeeds, cannot succeed, or has used up its attempts. */
  async #call<T>(call: () => Promise<T>, { warn, signal }: Waiting): Promise<T> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.once(call);
      } catch (thrown) {
        const error = thrown as StoreError;
        if (!isTransient(error) || failures >= (this.config.persistAttempts ?? 1) || signal.aborted) throw error;
        warn(this.waiting(error, failures));
        await this.pause(failures, signal);
        if (signal.aborted) throw error;
      }
    }
  }

  /**
   * Returns the store's data before a new turn: after the thread's last one, or after `from`. An unfinished turn that
   * no page drives is ended as cancelled first. One that a page drives is an error (`Busy`) for `error`; for `cancel`
   * that page is asked to cancel it, and otherwise its end is awaited. The conversation `isNew` if no stored turns contain it.
   */
  async before(
    thread: ThreadKey,
    from: { parent: string | undefined } | undefined,
    known: () => Known,
    whenBusy: WhenBusy,
    waiting: Waiting,
  ): Promise<Transcript & { parent: string | undefined; isNew?: boolean }> {
    let record = await this.#call(() => this.store.thread(thread), waiting);
    if (record?.unfinished && (await this.#free(record.unfinished, whenBusy, waiting))) {
      record = await this.#call(() => this.store.thread(thread), waiting);
    }
    if (!record) return { ...known(), parent: from?.parent, isNew: true };
    const { unfinished } = record;
    const stopped = unfinished && (await this.#stop(unfinished, waiting));
    const parent = from ? from.parent : record.latest;
    if (parent === undefined) return { messages: [], sharedState: {}, parent };
    if (stopped && unfinished.key.turn === parent) return { ...stopped, parent };
    if (!unfinished && known().last === parent) return { ...known(), parent };
    return { ...(await this.#conversation(thread, parent, waiting)), parent };
  }

  /** Makes sure that no page drives an unfinished turn. Returns whether one did. */
  async #free({ owner }: Unfinished, whenBusy: WhenBusy, { signal }: Waiting): Promise<boolean> {
    if (!(await Presence.all()).has(owner)) return false;
    if (whenBusy === "error") throw new Busy();
    if (whenBusy !== "cancel") {
      await Presence.ended(owner, signal);
      return true;
    }
    const giveUp = new AbortController();
    const abort = () => giveUp.abort();
    const timer = this.clock.setTimeout(abort, CANCEL_TIMEOUT_MS);
    signal.addEventListener("abort", abort);
    try {
      await Presence.cancel(owner, giveUp.signal);
    } finally {
      this.clock.clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
    return true;
  }

  /** Begins a turn of a thread: `begin` is called again where another page's turn of the thread began first. */
  async untilFree<T>(whenBusy: WhenBusy, begin: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await begin();
      } catch (error) {
        if (!(error instanceof StoreError) || error.code !== "busy") throw error;
        if (whenBusy === "error" || tries >= MAX_BUSY_TRIES) throw new Busy();
      }
    }
  }

  /** The conversation up to a stored turn. */
  async #conversation(thread: ThreadKey, turn: string, waiting: Waiting): Promise<Transcript> {
    const turns = await this.#call(() => this.store.turns(thread), waiting);
    try {
      return conversationOf(turns, turn);
    } catch (error) {
      throw new StoreError("damaged", storeError(error).message);
    }
  }

  /**
   * The conversation of a thread as the store has it, and its last turn, if that is over; nothing if the store has no
   * more than `known`, or no such thread.
   */
  async load(thread: ThreadKey, known: string | undefined): Promise<Known | undefined> {
    const record = await this.once(() => this.store.thread(thread));
    const turn = record?.latest;
    const isOver = !record?.unfinished;
    if (turn == null || (isOver && turn === known)) return undefined;
    const once: Waiting = { warn: () => {}, trouble: () => {}, signal: AbortSignal.abort() };
    return { ...(await this.#conversation(thread, turn, once)), last: isOver ? turn : undefined };
  }

  /** Stores that a turn begins, and returns its generation. */
  async begin(turn: NewTurn, waiting: Waiting): Promise<number> {
    let tries = 0;
    try {
      return await this.#call(() => {
        tries += 1;
        return this.store.beginTurn(turn);
      }, waiting);
    } catch (error) {
      if ((error as StoreError).code !== "exists" || tries === 1) throw error;
      // An earlier try succeeded, but its answer was lost.
      const claimed = await this.#call(async () => {
        const unfinished = await this.#unfinished(turn.key);
        return unfinished?.owner === turn.owner ? this.#claimed(unfinished, turn.owner) : undefined;
      }, waiting);
      if (!claimed) throw error;
      return claimed.generation;
    }
  }

  /** Claims a turn for an owner, if it is unfinished. A page that drives it is handled as in `before`. */
  async claim(key: TurnKey, owner: string, whenBusy: WhenBusy, waiting: Waiting): Promise<Claimed | undefined> {
    const driven = await this.#call(() => this.#unfinished(key), waiting);
    if (!driven) return undefined;
    await this.#free(driven, whenBusy, waiting);
    return this.#take(key, owner, waiting);
  }

  /** Claims a turn for an owner, if it is unfinished, from any other owner. */
  #take(key: TurnKey, owner: string, waiting: Waiting): Promise<Claimed | undefined> {
    return this.#call(async () => {
      const unfinished = await this.#unfinished(key);
      return unfinished && this.#claimed(unfinished, owner);
    }, waiting);
  }

  async #unfinished(key: TurnKey): Promise<Unfinished | undefined> {
    const unfinished = (await this.store.thread(key.thread))?.unfinished;
    return unfinished?.key.turn === key.turn ? unfinished : undefined;
  }

  /** Nothing for a turn that has ended. */
  async #claimed({ key, generation }: Unfinished, owner: string): Promise<Claimed | undefined> {
    try {
      return await this.store.claim(key, generation, owner);
    } catch (error) {
      if (storeError(error).code === "closed") return undefined;
      throw error;
    }
  }

  /** Claims all turns that no page drives, except those that are left out, each for an owner of its own. */
  async orphans(isUnderWay: (thread: ThreadKey) => boolean): Promise<Orphan[]> {
    const unfinished = await this.once(() => this.store.unfinished());
    const there = await Presence.all();
    const orphans: Orphan[] = [];
    for (const turn of unfinished) {
      if (there.has(turn.owner) || isUnderWay(turn.key.thread)) continue;
      const presence = await Presence.begin();
      try {
        const claimed = await this.once(() => this.#claimed(turn, presence.owner));
        if (claimed) orphans.push({ key: turn.key, claimed, presence });
        else presence.end();
      } catch (error) {
        presence.end();
        // Another page was quicker.
        if (isLost(error as StoreError)) continue;
        for (const { presence } of orphans) presence.end();
        throw error;
      }
    }
    return orphans;
  }

  /** The run of a claimed turn. Throws a `StepwellError` if it cannot be read. */
  async revived(key: TurnKey, { checkpoint = "" }: Claimed, config: RunConfig, now: number, waiting: Waiting, journal = false): Promise<RunMachine> {
    const turns = await this.#call(() => this.store.turns(key.thread), waiting);
    try {
      return RunMachine.reviveFrom(checkpoint, turns, key.turn, config, now, journal);
    } catch (error) {
      // A turn that was begun without the store has the app's own data, until its first write.
      if (isWhole(checkpoint)) return RunMachine.revive(checkpoint, config, now, journal);
      throw error;
    }
  }

  /**
   * Claims a turn, so that its owner can write no more, and ends it as cancelled. Returns the conversation after it, if
   * its run could be read.
   */
  async #stop({ key, owner }: Unfinished, waiting: Waiting): Promise<Transcript | undefined> {
    // A page that is invisible for want of locks stops at once, instead of streaming on without a client.
    Presence.tell(owner);
    const claimed = await this.#take(key, crypto.randomUUID(), waiting);
    // The turn may have ended in the meantime.
    if (!claimed) return undefined;
    const write = (batch: PersistBatch) => this.#call(() => this.store.persist(key, claimed.generation, batch), waiting);
    const now = this.clock.now();
    const config: RunConfig = { ...this.config, device: { ...this.config.device, killed: "cancel" } };
    let machine;
    let isClosed = false;
    try {
      machine = await this.revived(key, claimed, config, now, waiting);
    } catch {
      // The turn's run cannot be read: its stored data stays.
    }
    try {
      for (let outputs = machine?.pollOutputs(); machine && outputs; ) {
        const effect = outputs.effects.find((effect) => effect.type === "persist");
        if (!effect) break;
        await write(batchOf(effect, now));
        isClosed ||= effect.status !== "streaming";
        outputs = machine.persisted(effect.id, now);
      }
      if (machine && isClosed) return { messages: machine.messages, sharedState: machine.sharedState, compaction: machine.compaction };
      const stored = await this.#call(() => this.store.turn(key), waiting);
      const first = stored?.blocks.length ?? 0;
      await write({ first, blocks: [], status: "cancelled", outcome: { outcome: "cancelled" }, checkpoint: "", atMs: now });
      return undefined;
    } finally {
      machine?.free();
    }
  }
}

/** Whether a text is the snapshot of a complete run, and no checkpoint. */
function isWhole(text: string): boolean {
  try {
    return (JSON.parse(text) as { basis?: unknown }).basis === undefined;
  } catch {
    return false;
  }
}

function batchOf({ id, blocks, status, outcome, checkpoint }: Persist, atMs: number): PersistBatch {
  // A write is named by the number of its first block.
  const first = Number(id.slice(id.indexOf(":") + 1));
  return { first, blocks, status, ...(outcome && { outcome }), checkpoint, atMs };
}

/** A turn as its store knows it. */
export interface StoredTurn {
  /** The key of the turn. */
  key: TurnKey;
  /** The generation that the turn is written with. */
  generation: number;
}

/** The right to write a turn. @internal */
export class Writer {
  /** The number of temporary failures of the write under way. */
  #failures = 0;
  /** The turn belongs to another page: nothing is written any more. */
  #isLost = false;
  readonly #givenUp = new AbortController();

  constructor(
    private readonly durable: Durable,
    readonly stored: StoredTurn,
    private readonly now: () => number,
    /** The turn, and the function that stops it. */
    private readonly turn: Waiting & { stop(): void },
  ) {}

  /** Cuts the pauses of writes short: a write that fails has failed. */
  giveUp(): void {
    this.#givenUp.abort();
  }

  /**
   * Carries out a write; returns the machine's input. The machine emits the write again as often as it should be tried.
   */
  async write(effect: Persist): Promise<(machine: RunMachine) => Outputs> {
    const { id } = effect;
    const { durable, stored, now, turn } = this;
    const { signal } = this.#givenUp;
    const failed = (message: string) => (machine: RunMachine) => machine.persistFailed(id, message, now());
    if (this.#isLost) return failed("another page goes on with the turn, or it was deleted");
    for (;;) {
      await durable.pause(this.#failures, signal);
      try {
        await durable.once(() => durable.store.persist(stored.key, stored.generation, batchOf(effect, now())));
        this.#failures = 0;
        turn.trouble(undefined);
        return (machine) => machine.persisted(id, now());
      } catch (thrown) {
        const error = thrown as StoreError;
        if (isLost(error)) {
          this.#isLost = true;
          turn.warn(`the turn stops here: ${error.message}`);
          turn.stop();
        } else if (isTransient(error) || (durable.waits && error.code === "readOnly")) {
          this.#failures += 1;
          turn.trouble(error);
          if (!durable.waits || this.#failures === 1) turn.warn(durable.waiting(error, this.#failures));
          if (durable.waits && !signal.aborted) continue;
        }
        return failed(error.message);
      }
    }
  }
}
