// A store in the browser's own database: `new Agent({ …, store: await IndexedDbStore.open("my-app") })`.

import { StoreError } from "stepwell";

const STORES = ["threads", "turns", "blocks"];
const placeOf = ({ server = "", room = "", thread }) => [server, room, thread];
/** All whose key begins with this one: lists come after texts and numbers. */
const below = (place) => IDBKeyRange.bound(place, [...place, []]);

/** What a request comes to. */
function came(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Whether two values are the same JSON, whatever the order of their fields. */
function same(one, other) {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => same(one[name], other[name]));
}

/**
 * `threads` has a thread's title and times, and the ids of its turns in the order in which they began; `turns` a turn
 * without its blocks, which are in `blocks`, each by itself: a write does not grow with the turn.
 */
export class IndexedDbStore {
  #database;

  static async open(name) {
    const opening = indexedDB.open(name, 1);
    opening.onupgradeneeded = () => {
      const [, turns] = STORES.map((store) => opening.result.createObjectStore(store));
      turns.createIndex("status", "record.status");
    };
    const store = new IndexedDbStore();
    store.#database = await came(opening);
    return store;
  }

  close() {
    this.#database.close();
  }

  /** One transaction: as a whole or not at all, and on the disk when it is over. */
  async #transaction(mode, work) {
    const transaction = this.#database.transaction(STORES, mode, { durability: "strict" });
    const over = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error ?? new Error("the transaction was given up"));
    });
    try {
      const result = await work(Object.fromEntries(STORES.map((name) => [name, transaction.objectStore(name)])));
      await over;
      return result;
    } catch (error) {
      over.catch(() => {});
      try {
        transaction.abort();
      } catch {
        // It is over already.
      }
      throw error;
    }
  }

  static async #turn({ turns }, { thread, turn }) {
    const stored = await came(turns.get([...placeOf(thread), turn]));
    if (!stored) throw new StoreError("noTurn", `the store has no turn \`${turn}\` in this thread`);
    return stored;
  }

  /** As the agent reads it. */
  static async #record({ blocks }, { key, record }) {
    return { ...record, blocks: await came(blocks.getAll(below([...placeOf(key.thread), key.turn]))) };
  }

  static #unfinished({ key, generation, owner, record: { updatedAtMs } }) {
    return { key, generation, owner, updatedAtMs };
  }

  /** The turns that have not come to their end: of all threads, or of one. */
  static async #open({ turns }, place) {
    const open = await came(turns.index("status").getAll("streaming"));
    return place ? open.filter(({ key }) => same(placeOf(key.thread), place)) : open;
  }

  beginTurn({ key, parent, message, snapshot, owner, title, atMs }) {
    return this.#transaction("readwrite", async (stores) => {
      const place = placeOf(key.thread);
      const known = await came(stores.threads.get(place));
      const thread = known ?? { key: key.thread, title, createdAtMs: atMs, updatedAtMs: atMs, turns: [] };
      if (thread.turns.includes(key.turn)) throw new StoreError("exists", `the thread has a turn \`${key.turn}\` already`);
      const [open] = await IndexedDbStore.#open(stores, place);
      if (open) throw new StoreError("busy", `the thread has an unfinished turn, \`${open.key.turn}\``);
      if (parent !== undefined) await IndexedDbStore.#turn(stores, { thread: key.thread, turn: parent });
      thread.title ??= title;
      thread.updatedAtMs = Math.max(thread.updatedAtMs, atMs);
      thread.turns.push(key.turn);
      stores.threads.put(thread, place);
      const record = { id: key.turn, parent, message, status: "streaming", createdAtMs: atMs, updatedAtMs: atMs };
      stores.turns.put({ key, record, owner, generation: 1, snapshot, blocks: 0 }, [...place, key.turn]);
      return 1;
    });
  }

  claim(key, seen, owner) {
    return this.#transaction("readwrite", async (stores) => {
      const turn = await IndexedDbStore.#turn(stores, key);
      if (turn.record.status !== "streaming") throw new StoreError("closed", `the turn \`${key.turn}\` has ended`);
      if (turn.generation !== seen) throw new StoreError("stale", `the turn \`${key.turn}\` has another owner by now`);
      const generation = seen + 1;
      stores.turns.put({ ...turn, owner, generation }, [...placeOf(key.thread), key.turn]);
      return { generation, snapshot: turn.snapshot };
    });
  }

  persist(key, generation, { first, blocks, status, outcome, snapshot, atMs }) {
    return this.#transaction("readwrite", async (stores) => {
      const place = placeOf(key.thread);
      const turn = await IndexedDbStore.#turn(stores, key);
      const { record, blocks: next } = turn;
      if (turn.generation !== generation) throw new StoreError("stale", `the turn \`${key.turn}\` has another owner by now`);
      if (first > next) throw new StoreError("gap", `block ${first} of the turn \`${key.turn}\` is beyond what is stored: the next is ${next}`);
      for (const block of blocks.filter(({ sequence }) => sequence < next)) {
        const stored = await came(stores.blocks.get([...place, key.turn, block.sequence]));
        if (!same(stored.block, block)) throw new StoreError("conflict", `block ${block.sequence} is stored with another content`);
      }
      const added = blocks.filter(({ sequence }) => sequence >= next);
      if (record.status !== "streaming") {
        if (added.length === 0 && record.status === status && same(record.outcome, outcome)) return;
        throw new StoreError("closed", `the turn \`${key.turn}\` has ended`);
      }
      for (const block of added) stores.blocks.put({ block, atMs }, [...place, key.turn, block.sequence]);
      const written = { ...record, status, outcome, updatedAtMs: Math.max(record.updatedAtMs, atMs) };
      const kept = status === "streaming" ? snapshot : undefined;
      stores.turns.put({ ...turn, record: written, snapshot: kept, blocks: next + added.length }, [...place, key.turn]);
      const thread = await came(stores.threads.get(place));
      stores.threads.put({ ...thread, updatedAtMs: Math.max(thread.updatedAtMs, atMs) }, place);
    });
  }

  unfinished() {
    return this.#transaction("readonly", async (stores) => {
      const open = await IndexedDbStore.#open(stores);
      return open.sort((one, other) => one.record.createdAtMs - other.record.createdAtMs).map(IndexedDbStore.#unfinished);
    });
  }

  turn(key) {
    return this.#transaction("readonly", async (stores) => {
      const turn = await came(stores.turns.get([...placeOf(key.thread), key.turn]));
      return turn && IndexedDbStore.#record(stores, turn);
    });
  }

  turns(key) {
    return this.#transaction("readonly", async (stores) => {
      const place = placeOf(key);
      const { turns: ids = [] } = (await came(stores.threads.get(place))) ?? {};
      const turns = await Promise.all(ids.map((id) => came(stores.turns.get([...place, id]))));
      return Promise.all(turns.map((turn) => IndexedDbStore.#record(stores, turn)));
    });
  }

  static async #thread(stores, { turns: ids, ...thread }) {
    const [open] = await IndexedDbStore.#open(stores, placeOf(thread.key));
    return { ...thread, latest: ids.at(-1), unfinished: open && IndexedDbStore.#unfinished(open) };
  }

  thread(key) {
    return this.#transaction("readonly", async (stores) => {
      const thread = await came(stores.threads.get(placeOf(key)));
      return thread && IndexedDbStore.#thread(stores, thread);
    });
  }

  /** All threads, the last used first: for the app's own list. */
  threads() {
    return this.#transaction("readonly", async (stores) => {
      const threads = await came(stores.threads.getAll());
      threads.sort((one, other) => other.updatedAtMs - one.updatedAtMs);
      return Promise.all(threads.map((thread) => IndexedDbStore.#thread(stores, thread)));
    });
  }

  deleteThread(key) {
    return this.#transaction("readwrite", async ({ threads, turns, blocks }) => {
      const place = placeOf(key);
      const isThere = (await came(threads.getKey(place))) !== undefined;
      threads.delete(place);
      turns.delete(below(place));
      blocks.delete(below(place));
      return isThere;
    });
  }
}
