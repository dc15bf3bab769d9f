// Turns that survive: what stands in the store before a turn's first request goes out, and who writes it.

import { RunMachine } from "./machine.js";
import { Presence } from "./presence.js";
import type { Clock } from "./setup.js";
import { conversationOf } from "./session.js";
import type { Claimed, Effect, Json, Message, NewTurn, Outputs, PersistBatch, RunConfig, ThreadKey, TurnKey, Unfinished } from "./types.js";
import { isLost, isTransient, type Store, StoreError, storeError } from "./store.js";

/** One call that takes longer has failed. */
const LONGEST_CALL = 30_000;

type Persist = Extract<Effect, { type: "persist" }>;

/** What a turn that waits for its store is told, and that nobody waits any more. @internal */
export interface Waiting {
  warn(message: string): void;
  /** What keeps the writes waiting now, if anything does. */
  trouble(error: StoreError | undefined): void;
  signal: AbortSignal;
}

/** @internal */
export interface Conversation {
  messages: Message[];
  sharedState: Json;
}

/** What the page knows of a thread: its conversation, and the stored turn that this is as of. @internal */
export interface Known extends Conversation {
  last: string | undefined;
}

/** The store of an agent, and under which name it writes there. @internal */
export class Durable {
  readonly #owner = crypto.randomUUID();
  readonly #presence = new Presence(this.#owner);

  constructor(
    readonly store: Store,
    readonly waits: boolean,
    private readonly config: RunConfig,
    private readonly clock: Clock,
  ) {}

  /** Says that the owner is there, until what is given is called. */
  attend(): Promise<() => void> {
    return this.#presence.attend();
  }

  /** One call, which does not take for ever. */
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

  /** The pause after so many failures. */
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

  /** In words, for the app. */
  waiting({ message }: StoreError, failures: number): string {
    return `the turn waits for its store, and tries again in ${(this.delay(failures) / 1000).toFixed(1)} s: ${message}`;
  }

  /** Tries until it is done, cannot be done, or has been tried often enough. */
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
   * What the store has before a new turn: after the thread's last one, or after `from`. A turn of the thread that nobody has
   * brought to its end is stopped first.
   */
  async before(
    thread: ThreadKey,
    from: { parent: string | undefined } | undefined,
    known: () => Known,
    waiting: Waiting,
  ): Promise<Conversation & { parent: string | undefined }> {
    const record = await this.#call(() => this.store.thread(thread), waiting);
    if (!record) return { ...known(), parent: from?.parent };
    const { unfinished } = record;
    const stopped = unfinished && (await this.#stop(unfinished, waiting));
    const parent = from ? from.parent : record.latest;
    if (parent === undefined) return { messages: [], sharedState: {}, parent };
    if (stopped && unfinished.key.turn === parent) return { ...stopped, parent };
    if (!unfinished && known().last === parent) return { ...known(), parent };
    return { ...(await this.#conversation(thread, parent, waiting)), parent };
  }

  /** The conversation as of a stored turn. */
  async #conversation(thread: ThreadKey, turn: string, waiting: Waiting): Promise<Conversation> {
    const turns = await this.#call(() => this.store.turns(thread), waiting);
    try {
      return conversationOf(turns, turn);
    } catch (error) {
      throw new StoreError("damaged", storeError(error).message);
    }
  }

  /**
   * The conversation of a thread as the store has it, and the turn that it is as of, if that is over; nothing where the store has
   * no more than `known`, or no such thread.
   */
  async load(thread: ThreadKey, known: string | undefined): Promise<Known | undefined> {
    const record = await this.once(() => this.store.thread(thread));
    const turn = record?.latest;
    const isOver = !record?.unfinished;
    if (turn == null || (isOver && turn === known)) return undefined;
    const once: Waiting = { warn: () => {}, trouble: () => {}, signal: AbortSignal.abort() };
    return { ...(await this.#conversation(thread, turn, once)), last: isOver ? turn : undefined };
  }

  /** Stores that a turn begins, and gives its generation. */
  async begin(turn: Omit<NewTurn, "owner">, waiting: Waiting): Promise<number> {
    let tries = 0;
    try {
      return await this.#call(() => {
        tries += 1;
        return this.store.beginTurn({ ...turn, owner: this.#owner });
      }, waiting);
    } catch (error) {
      if ((error as StoreError).kind !== "exists" || tries === 1) throw error;
      // An earlier try was done, and its answer lost on the way.
      const claimed = await this.claim(turn.key, waiting, true);
      if (!claimed) throw error;
      return claimed.generation;
    }
  }

  /** Claims a turn, if it is unfinished: `own` if it is under this name alone. */
  claim(key: TurnKey, waiting: Waiting, own = false): Promise<Claimed | undefined> {
    return this.#call(async () => {
      const unfinished = (await this.store.thread(key.thread))?.unfinished;
      if (unfinished?.key.turn !== key.turn || (own && unfinished.owner !== this.#owner)) return undefined;
      return this.#claimed(unfinished);
    }, waiting);
  }

  /** Nothing of a turn that has ended. */
  async #claimed({ key, generation }: Unfinished): Promise<Claimed | undefined> {
    try {
      return await this.store.claim(key, generation, this.#owner);
    } catch (error) {
      if (storeError(error).kind === "closed") return undefined;
      throw error;
    }
  }

  /** Claims all that nobody drives any more, but for what is left out. */
  async orphans(isUnderWay: (thread: ThreadKey) => boolean): Promise<{ key: TurnKey; claimed: Claimed }[]> {
    const unfinished = await this.once(() => this.store.unfinished());
    const there = await Presence.all();
    const claimed = [];
    for (const turn of unfinished) {
      if ((turn.owner !== this.#owner && there.has(turn.owner)) || isUnderWay(turn.key.thread)) continue;
      try {
        const own = await this.once(() => this.#claimed(turn));
        if (own) claimed.push({ key: turn.key, claimed: own });
      } catch (error) {
        // Another page was quicker.
        if (!isLost(error as StoreError)) throw error;
      }
    }
    return claimed;
  }

  /**
   * Claims a turn, so that its owner can write no more, and ends it as cancelled. Gives the conversation after it, if its run
   * could be read.
   */
  async #stop({ key }: Unfinished, waiting: Waiting): Promise<Conversation | undefined> {
    const claimed = await this.claim(key, waiting);
    // It may have come to its end in the meantime.
    if (!claimed) return undefined;
    const write = (batch: PersistBatch) => this.#call(() => this.store.persist(key, claimed.generation, batch), waiting);
    const now = this.clock.now();
    const config: RunConfig = { ...this.config, device: { ...this.config.device, killed: "cancel" } };
    let machine;
    let isClosed = false;
    try {
      machine = RunMachine.revive(claimed.snapshot ?? "", config, now);
    } catch {
      // Its run cannot be read: what is stored of it stands.
    }
    try {
      for (let outputs = machine?.pollOutputs(); machine && outputs; ) {
        const effect = outputs.effects.find((effect) => effect.type === "persist");
        if (!effect) break;
        await write(batchOf(effect, now));
        isClosed ||= effect.status !== "streaming";
        outputs = machine.persisted(effect.id, now);
      }
      if (machine && isClosed) return { messages: machine.messages, sharedState: machine.sharedState };
      const stored = await this.#call(() => this.store.turn(key), waiting);
      const first = stored?.blocks.length ?? 0;
      await write({ first, blocks: [], status: "cancelled", outcome: { outcome: "cancelled" }, snapshot: "", atMs: now });
      return undefined;
    } finally {
      machine?.free();
    }
  }
}

function batchOf({ id, blocks, status, outcome, snapshot }: Persist, atMs: number): PersistBatch {
  // A write is named by the number of its first block.
  const first = Number(id.slice(id.indexOf(":") + 1));
  return { first, blocks, status, ...(outcome && { outcome }), snapshot, atMs };
}

/** A turn as its store knows it. */
export interface StoredTurn {
  /** Its name. */
  key: TurnKey;
  /** What it is written with. */
  generation: number;
}

/** The right to write a turn. @internal */
export class Writer {
  /** How often the write under way has failed for now. */
  #failures = 0;
  /** The turn is another page's: nothing is written any more. */
  #isLost = false;
  readonly #givenUp = new AbortController();

  constructor(
    private readonly durable: Durable,
    readonly stored: StoredTurn,
    private readonly now: () => number,
    /** The turn, and what stops it. */
    private readonly turn: Waiting & { stop(): void },
  ) {}

  /** Cuts the pauses of writes short: one that fails has failed. */
  giveUp(): void {
    this.#givenUp.abort();
  }

  /** Carries out a write; gives what the machine is told. The machine gives it out again as often as it is to be tried. */
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
        } else if (isTransient(error) || (durable.waits && error.kind === "readOnly")) {
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
