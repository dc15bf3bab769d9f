// Where an agent's turns are kept: what the app's own store does.

import type { Claimed, NewTurn, PersistBatch, ThreadKey, ThreadRecord, TurnKey, TurnRecord, Unfinished } from "./types.js";

/**
 * The app's own database, in IndexedDB or wherever. A store holds threads; a thread holds a tree of turns; a turn holds its
 * blocks in sequence, its status, and the checkpoint that it can be revived from. It is written by one owner at a time.
 *
 * Each method is one transaction: it is done as a whole or not at all, and what it has said to be done is still there after
 * the page was closed. A method that cannot do what it is asked to throws the `StoreError` that says why; anything else that
 * it throws is tried again. What it is given is JSON, to be kept as it is.
 */
export interface Store {
  /**
   * Begins a turn, and its thread if that is new; its status is `streaming`. Gives its generation, 1.
   *
   * `busy` if another turn of the thread is unfinished, `exists` if the thread has a turn of this id, `noTurn` if there is no
   * such parent.
   */
  beginTurn(turn: NewTurn): Promise<number>;
  /**
   * Makes `owner` the owner of an unfinished turn, if its generation is still `seen`. Gives the new generation, one more, and
   * the checkpoint to go on from.
   *
   * `stale` if somebody else claimed it first, `closed` if it has come to its end, `noTurn`.
   */
  claim(turn: TurnKey, seen: number, owner: string): Promise<Claimed>;
  /**
   * Stores blocks, status, outcome and checkpoint. Blocks that are stored already must be the same ones, and change nothing: a
   * batch may come again, alone or as a part of a longer one. The newer checkpoint takes the place of the older; a turn that is
   * closed keeps none. A batch that closes a turn which has just that end already changes nothing.
   *
   * `stale` if `generation` is not the turn's, `gap` if blocks are missing before the first, `conflict` if one is stored with
   * another content, `closed` if the turn has ended otherwise, `noTurn`.
   */
  persist(turn: TurnKey, generation: number, batch: PersistBatch): Promise<void>;
  /** The turns that have not come to their end, oldest first. */
  unfinished(): Promise<Unfinished[]>;
  /** A turn with its blocks; nothing if there is none. */
  turn(turn: TurnKey): Promise<TurnRecord | undefined>;
  /** All turns of a thread, in the order in which they began; none if there is no such thread. */
  turns(thread: ThreadKey): Promise<TurnRecord[]>;
  /** A thread; nothing if there is none. */
  thread(thread: ThreadKey): Promise<ThreadRecord | undefined>;
  /**
   * Deletes a thread with all that it holds; whether there was one. The owner of an unfinished turn of it hears `noTurn` at
   * its next write.
   */
  deleteThread(thread: ThreadKey): Promise<boolean>;
}

/**
 * Why a store did not do what it was asked to. `full`, `unavailable` and `other` may pass: the call is tried again. With
 * `stale`, `closed` and `noTurn` the turn is not the writer's any more, and stops.
 */
export type StoreErrorKind =
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

/** What a store throws. Nothing has changed. */
export class StoreError extends Error {
  override name = "StoreError";

  constructor(
    readonly kind: StoreErrorKind,
    message: string,
  ) {
    super(message);
  }
}

/** @internal */
export function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const { name, message } = error instanceof Error ? error : { name: "", message: String(error) };
  return new StoreError(name === "QuotaExceededError" ? "full" : "other", message || name);
}

/** Whether the same call may do later. @internal */
export const isTransient = ({ kind }: StoreError): boolean => ["full", "unavailable", "other"].includes(kind);

/** Whether the turn is not the writer's any more. @internal */
export const isLost = ({ kind }: StoreError): boolean => ["stale", "closed", "noTurn"].includes(kind);
