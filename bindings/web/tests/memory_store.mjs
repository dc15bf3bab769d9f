// A store in memory, which may be made to fail.

const copy = (value) => structuredClone(value);
const nameOf = ({ server = "", room = "", thread }) => JSON.stringify([server, room, thread]);

export function memoryStore({ StoreError }) {
  const threads = new Map();
  const refuse = (kind) => {
    throw new StoreError(kind, `refused: ${kind}`);
  };
  const turnsOf = (thread) => threads.get(nameOf(thread))?.turns ?? [];
  const find = ({ thread, turn }) => turnsOf(thread).find(({ record }) => record.id === turn);
  const turnOf = (key) => find(key) ?? refuse("noTurn");
  const isOpen = ({ record }) => record.status === "streaming";
  const unfinishedOf = ({ key, generation, owner, record: { updatedAtMs } }) => ({ key, generation, owner, updatedAtMs });
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  const methods = {
    beginTurn({ key, parent, message, history, checkpoint, owner, title, atMs }) {
      if (find(key)) refuse("exists");
      if (turnsOf(key.thread).some(isOpen)) refuse("busy");
      if (parent !== undefined) turnOf({ thread: key.thread, turn: parent });
      const name = nameOf(key.thread);
      if (!threads.has(name)) threads.set(name, { key: key.thread, createdAtMs: atMs, turns: [] });
      const thread = threads.get(name);
      thread.title ??= title;
      thread.updatedAtMs = atMs;
      const record = { id: key.turn, parent, message, history, status: "streaming", createdAtMs: atMs, updatedAtMs: atMs, blocks: [] };
      thread.turns.push({ key, record, owner, generation: 1, checkpoint });
      return 1;
    },
    claim(key, seen, owner) {
      const turn = turnOf(key);
      if (!isOpen(turn)) refuse("closed");
      if (turn.generation !== seen) refuse("stale");
      Object.assign(turn, { owner, generation: seen + 1 });
      return { generation: turn.generation, checkpoint: turn.checkpoint };
    },
    persist(key, generation, { first, blocks, status, outcome, checkpoint, atMs }) {
      const turn = turnOf(key);
      const { record } = turn;
      const next = record.blocks.length;
      if (turn.generation !== generation) refuse("stale");
      if (first > next) refuse("gap");
      if (blocks.some((block) => block.sequence < next && !same(record.blocks[block.sequence].block, block))) refuse("conflict");
      const added = blocks.filter(({ sequence }) => sequence >= next);
      if (!isOpen(turn)) {
        if (added.length > 0 || record.status !== status || !same(record.outcome, outcome)) refuse("closed");
        return;
      }
      if (status === "streaming" && first + blocks.length < next) return;
      record.blocks.push(...added.map((block) => ({ block, atMs })));
      Object.assign(record, { status, outcome, updatedAtMs: atMs });
      turn.checkpoint = status === "streaming" ? checkpoint : undefined;
      threads.get(nameOf(key.thread)).updatedAtMs = atMs;
    },
    unfinished: () => [...threads.values()].flatMap(({ turns }) => turns.filter(isOpen).map(unfinishedOf)),
    turn: (key) => find(key)?.record,
    turns: (key) => turnsOf(key).map(({ record }) => record),
    thread(key) {
      const thread = threads.get(nameOf(key));
      if (!thread) return undefined;
      const { turns, ...rest } = thread;
      const open = turns.find(isOpen);
      return { ...rest, latest: turns.at(-1)?.record.id, unfinished: open && unfinishedOf(open) };
    },
    deleteThread: (key) => threads.delete(nameOf(key)),
  };
  const store = { before: () => {}, after: () => {} };
  for (const [name, method] of Object.entries(methods)) {
    store[name] = async (...given) => {
      await store.before(name, ...given);
      const result = copy(method(...copy(given)));
      await store.after(name, ...given);
      return result;
    };
  }
  return store;
}
