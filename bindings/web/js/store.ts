// The store of an agent's turns: the interface of the app's own store.

import { StepwellError } from "./error.js";
import type { Claimed, NewTurn, PersistBatch, ThreadKey, ThreadRecord, TurnKey, TurnRecord, Unfinished } from "./types.js";

/**
 * The app's own database, in IndexedDB or elsewhere. A store holds threads; a thread holds a tree of turns; a turn
 * holds its blocks in sequence, its status, and the checkpoint to revive it from. A turn has one writing owner at a
 * time.
 *
 * Each method is one transaction: it is done completely or not at all, and what the method has confirmed survives the
 * end of the page. A method that fails throws the `StoreError` that gives the reason; after any other exception the
 * call is retried. The arguments are JSON, to be stored unchanged.
 */
export interface Store {
  /**
   * Begins a turn, and its thread if that is new; the turn's status is `streaming`. Returns the turn's generation, 1.
   *
   * `busy` if another turn of the thread is unfinished, `exists` if the thread has a turn of this id, `noTurn` if there is no
   * such parent.
   */
  beginTurn(turn: NewTurn): Promise<number>;
  /**
   * Makes `owner` the owner of an unfinished turn, if its generation is still `seen`. Returns the new generation, one
   * higher, and the checkpoint to continue from.
   *
   * `stale` if another owner claimed the turn first, `closed` if the turn is over, `noTurn`.
   */
  claim(turn: TurnKey, seen: number, owner: string): Promise<Claimed>;
  /**
   * Stores blocks, status, outcome and checkpoint. Blocks that are stored already must be the same, and change nothing:
   * a batch may be sent again, alone or as a part of a longer one. The newer checkpoint replaces the older; a closed
   * turn has none. A batch that ends before what is stored is an earlier one that arrives late: it changes nothing. Nor does
   * a batch that closes a turn with the end that the turn already has.
   *
   * `stale` if `generation` is not the turn's, `gap` if blocks are missing before the first, `conflict` if one is stored with
   * another content, `closed` if the turn has ended otherwise, `noTurn`.
   */
  persist(turn: TurnKey, generation: number, batch: PersistBatch): Promise<void>;
  /** Returns the unfinished turns, oldest first. */
  unfinished(): Promise<Unfinished[]>;
  /** Returns a turn with its blocks; nothing if there is no such turn. */
  turn(turn: TurnKey): Promise<TurnRecord | undefined>;
  /** Returns all turns of a thread, in the order in which they began; none if there is no such thread. */
  turns(thread: ThreadKey): Promise<TurnRecord[]>;
  /** Returns a thread; nothing if there is no such thread. */
  thread(thread: ThreadKey): Promise<ThreadRecord | undefined>;
  /**
   * Deletes a thread with all that it holds, and returns whether there was one. The owner of an unfinished turn of the
   * thread gets `noTurn` at the next write.
   */
  deleteThread(thread: ThreadKey): Promise<boolean>;
}

/**
 * Why a store refused a request or failed. `full`, `unavailable` and `other` may be temporary: the call is retried.
 * With `stale`, `closed` and `noTurn` the writer no longer owns the turn, and stops.
 */
export type StoreErrorCode =
  | "stale"
  | "busy"
  | "exists"
  | "closed"
  | "gap"
  | "conflict"
  | "noTurn"
  | "noThread"
  | "refused"
  | "full"
  | "readOnly"
  | "unavailable"
  | "tooNew"
  | "damaged"
  | "other";

/** The exception of a store: nothing has changed. Its `code` gives the reason. */
export class StoreError extends StepwellError {
  declare readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string) {
    super("store", message, "check the store", { code, retryable: TRANSIENT.includes(code) });
  }
}

const TRANSIENT: readonly StoreErrorCode[] = ["full", "unavailable", "other"];

/** @internal */
export function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const { name, message } = error instanceof Error ? error : { name: "", message: String(error) };
  return new StoreError(name === "QuotaExceededError" ? "full" : "other", message || name);
}

/** Whether the same call may succeed later. @internal */
export const isTransient = ({ code }: StoreError): boolean => TRANSIENT.includes(code);

/** Whether the writer no longer owns the turn. @internal */
export const isLost = ({ code }: StoreError): boolean => ["stale", "closed", "noTurn"].includes(code);
