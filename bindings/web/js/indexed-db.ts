// A store in the browser's own database.

import type { Claimed, NewTurn, PersistBatch, ThreadKey, ThreadRecord, TurnBlock, TurnKey, TurnRecord, Unfinished } from "./types.js";
import { type Store, StoreError } from "./store.js";

const STORES = ["threads", "turns", "blocks"] as const;

type Stores = Record<(typeof STORES)[number], IDBObjectStore>;

/** A thread's title and times, and the ids of its turns in the order in which they began. */
interface StoredThread {
  key: ThreadKey;
  title?: string;
  createdAtMs: number;
  updatedAtMs: number;
  turns: string[];
}

/** A turn without its blocks, each of which is stored separately: a write does not grow with the turn. */
interface StoredTurn {
  key: TurnKey;
  record: Omit<TurnRecord, "blocks">;
  owner: string;
  generation: number;
  checkpoint?: string;
  /** The number of blocks. */
  blocks: number;
}

type Place = [server: string, room: string, thread: string];

const placeOf = ({ server = "", room = "", thread }: ThreadKey): Place => [server, room, thread];

/** The range of all keys that begin with this one: lists come after texts and numbers. */
const below = (place: string[]): IDBKeyRange => IDBKeyRange.bound(place, [...place, []]);

/** Returns the result of a request. */
function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Whether two values are the same JSON, whatever the order of their fields. */
function same(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  const [left, right] = [one as Record<string, unknown>, other as Record<string, unknown>];
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => same(left[name], right[name]));
}

const unfinishedOf = ({ key, generation, owner, record: { updatedAtMs } }: StoredTurn): Unfinished => ({ key, generation, owner, updatedAtMs });

/** Returns the stored turn; throws `noTurn` if there is none. */
async function turnOf({ turns }: Stores, { thread, turn }: TurnKey): Promise<StoredTurn> {
  const stored = await resultOf<StoredTurn | undefined>(turns.get([...placeOf(thread), turn]));
  if (!stored) throw new StoreError("noTurn", `the store has no turn \`${turn}\` in this thread`);
  return stored;
}

/** Returns a turn with its blocks. */
async function recordOf({ blocks }: Stores, { key, record }: StoredTurn): Promise<TurnRecord> {
  const all = await resultOf<TurnBlock[]>(blocks.getAll(below([...placeOf(key.thread), key.turn])));
  return { ...record, blocks: all };
}

/** Returns the unfinished turns of all threads, or of one. */
async function openTurns({ turns }: Stores, place?: Place): Promise<StoredTurn[]> {
  const open = await resultOf<StoredTurn[]>(turns.index("status").getAll("streaming"));
  return place ? open.filter(({ key }) => same(placeOf(key.thread), place)) : open;
}

async function threadOf(stores: Stores, { turns: ids, ...thread }: StoredThread): Promise<ThreadRecord> {
  const [open] = await openTurns(stores, placeOf(thread.key));
  const latest = ids.at(-1);
  return { ...thread, ...(latest !== undefined && { latest }), ...(open && { unfinished: unfinishedOf(open) }) };
}

/**
 * A store in IndexedDB, the database that a browser keeps for a page's origin: `new Agent({ …, store: await
 * IndexedDbStore.open("my-app") })`. All pages and workers of the origin can share one.
 */
export class IndexedDbStore implements Store {
  readonly #database: IDBDatabase;

  private constructor(database: IDBDatabase) {
    this.#database = database;
    // A page that deletes the database, or has a later version of it, does not wait for this one.
    database.onversionchange = () => database.close();
  }

  /**
   * Opens the database of this name, and creates it if the origin has none. Throws a `StoreError` if it cannot be
   * opened.
   */
  static async open(name: string): Promise<IndexedDbStore> {
    if (typeof indexedDB === "undefined") throw new StoreError("refused", "there is no IndexedDB here: use this store in a page or a worker");
    const opening = indexedDB.open(name, 1);
    opening.onupgradeneeded = () => {
      for (const store of STORES) opening.result.createObjectStore(store);
      opening.transaction?.objectStore("turns").createIndex("status", "record.status");
    };
    try {
      return new IndexedDbStore(await resultOf(opening));
    } catch (error) {
      const { name: kind, message } = error as DOMException;
      throw new StoreError(kind === "VersionError" ? "tooNew" : "unavailable", `the database cannot be opened: ${message || kind}`);
    }
  }

  /** Closes the database. The store cannot be used after that. */
  close(): void {
    this.#database.close();
  }

  /** Runs one transaction: done completely or not at all, and on the disk when it is over. */
  async #transaction<T>(mode: IDBTransactionMode, work: (stores: Stores) => Promise<T>): Promise<T> {
    const transaction = this.#database.transaction(STORES, mode, { durability: "strict" });
    const over = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error("the transaction was given up"));
    });
    try {
      const stores = Object.fromEntries(STORES.map((name) => [name, transaction.objectStore(name)])) as Stores;
      const result = await work(stores);
      await over;
      return result;
    } catch (error) {
      over.catch(() => {});
      try {
        transaction.abort();
      } catch {
        // The transaction is over already.
      }
      throw error;
    }
  }

  beginTurn({ key, parent, message, history, checkpoint, owner, title, atMs }: NewTurn): Promise<number> {
    return this.#transaction("readwrite", async (stores) => {
      const place = placeOf(key.thread);
      const known = await resultOf<StoredThread | undefined>(stores.threads.get(place));
      const thread: StoredThread = known ?? { key: key.thread, createdAtMs: atMs, updatedAtMs: atMs, turns: [] };
      if (thread.turns.includes(key.turn)) throw new StoreError("exists", `the thread has a turn \`${key.turn}\` already`);
      const [open] = await openTurns(stores, place);
      if (open) throw new StoreError("busy", `the thread has an unfinished turn, \`${open.key.turn}\``);
      if (parent !== undefined) await turnOf(stores, { thread: key.thread, turn: parent });
      if (title !== undefined) thread.title ??= title;
      thread.updatedAtMs = Math.max(thread.updatedAtMs, atMs);
      thread.turns.push(key.turn);
      stores.threads.put(thread, place);
      const times = { createdAtMs: atMs, updatedAtMs: atMs };
      const record = { id: key.turn, ...(parent !== undefined && { parent }), ...(message && { message }), ...(history !== undefined && { history }), status: "streaming" as const, ...times };
      const turn: StoredTurn = { key, record, owner, generation: 1, ...(checkpoint !== undefined && { checkpoint }), blocks: 0 };
      stores.turns.put(turn, [...place, key.turn]);
      return 1;
    });
  }

  claim(key: TurnKey, seen: number, owner: string): Promise<Claimed> {
    return this.#transaction("readwrite", async (stores) => {
      const turn = await turnOf(stores, key);
      if (turn.record.status !== "streaming") throw new StoreError("closed", `the turn \`${key.turn}\` has ended`);
      if (turn.generation !== seen) throw new StoreError("stale", `the turn \`${key.turn}\` has another owner by now`);
      const generation = seen + 1;
      stores.turns.put({ ...turn, owner, generation }, [...placeOf(key.thread), key.turn]);
      return { generation, ...(turn.checkpoint !== undefined && { checkpoint: turn.checkpoint }) };
    });
  }

  persist(key: TurnKey, generation: number, { first, blocks, status, outcome, checkpoint, atMs }: PersistBatch): Promise<void> {
    return this.#transaction("readwrite", async (stores) => {
      const place = placeOf(key.thread);
      const turn = await turnOf(stores, key);
      const { record, blocks: next } = turn;
      if (turn.generation !== generation) throw new StoreError("stale", `the turn \`${key.turn}\` has another owner by now`);
      if (first > next) throw new StoreError("gap", `block ${first} of the turn \`${key.turn}\` is beyond what is stored: the next is ${next}`);
      for (const block of blocks.filter(({ sequence }) => sequence < next)) {
        const stored = await resultOf<TurnBlock>(stores.blocks.get([...place, key.turn, block.sequence]));
        if (!same(stored.block, block)) throw new StoreError("conflict", `block ${block.sequence} is stored with another content`);
      }
      const added = blocks.filter(({ sequence }) => sequence >= next);
      if (record.status !== "streaming") {
        if (added.length === 0 && record.status === status && same(record.outcome, outcome)) return;
        throw new StoreError("closed", `the turn \`${key.turn}\` has ended`);
      }
      if (status === "streaming" && first + blocks.length < next) return;
      for (const block of added) stores.blocks.put({ block, atMs }, [...place, key.turn, block.sequence]);
      const written = { ...record, status, ...(outcome && { outcome }), updatedAtMs: Math.max(record.updatedAtMs, atMs) };
      const { checkpoint: _, ...rest } = turn;
      const kept = status === "streaming" ? { checkpoint } : {};
      stores.turns.put({ ...rest, ...kept, record: written, blocks: next + added.length }, [...place, key.turn]);
      const thread = await resultOf<StoredThread>(stores.threads.get(place));
      stores.threads.put({ ...thread, updatedAtMs: Math.max(thread.updatedAtMs, atMs) }, place);
    });
  }

  unfinished(): Promise<Unfinished[]> {
    return this.#transaction("readonly", async (stores) => {
      const open = await openTurns(stores);
      return open.sort((one, other) => one.record.createdAtMs - other.record.createdAtMs).map(unfinishedOf);
    });
  }

  turn(key: TurnKey): Promise<TurnRecord | undefined> {
    return this.#transaction("readonly", async (stores) => {
      const turn = await resultOf<StoredTurn | undefined>(stores.turns.get([...placeOf(key.thread), key.turn]));
      return turn && recordOf(stores, turn);
    });
  }

  turns(key: ThreadKey): Promise<TurnRecord[]> {
    return this.#transaction("readonly", async (stores) => {
      const place = placeOf(key);
      const { turns: ids } = (await resultOf<StoredThread | undefined>(stores.threads.get(place))) ?? { turns: [] };
      const turns = await Promise.all(ids.map((id) => resultOf<StoredTurn>(stores.turns.get([...place, id]))));
      return Promise.all(turns.map((turn) => recordOf(stores, turn)));
    });
  }

  thread(key: ThreadKey): Promise<ThreadRecord | undefined> {
    return this.#transaction("readonly", async (stores) => {
      const thread = await resultOf<StoredThread | undefined>(stores.threads.get(placeOf(key)));
      return thread && threadOf(stores, thread);
    });
  }

  /** Returns all threads, the last used first: for the app's own list. */
  threads(): Promise<ThreadRecord[]> {
    return this.#transaction("readonly", async (stores) => {
      const threads = await resultOf<StoredThread[]>(stores.threads.getAll());
      threads.sort((one, other) => other.updatedAtMs - one.updatedAtMs);
      return Promise.all(threads.map((thread) => threadOf(stores, thread)));
    });
  }

  deleteThread(key: ThreadKey): Promise<boolean> {
    return this.#transaction("readwrite", async ({ threads, turns, blocks }) => {
      const place = placeOf(key);
      const isThere = (await resultOf(threads.getKey(place))) !== undefined;
      threads.delete(place);
      turns.delete(below(place));
      blocks.delete(below(place));
      return isThere;
    });
  }
}
