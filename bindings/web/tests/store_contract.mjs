// What every store promises, for the one of the tests and the one of the examples.

/** What is wrong. */
export async function storeContract(store, { StoreError }) {
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`a store: ${what}`);
  const refused = async (what, kind, call) => {
    const error = await call().then(() => undefined, (error) => error);
    check(`${what}: ${error}`, error instanceof StoreError && error.code === kind);
  };
  const thread = { server: "", room: "", thread: "contract" };
  const key = (turn) => ({ thread, turn });
  const message = { id: "m", role: "user", content: "Hello" };
  const begin = (turn, more = {}) => store.beginTurn({ key: key(turn), message, checkpoint: "s0", owner: "one", atMs: 1, ...more });
  const block = (sequence, text = `${sequence}`) => ({ sequence, hop: 0, content: { type: "text", text } });
  const batch = (first, blocks, more = {}) => ({ first, blocks, status: "streaming", checkpoint: "s1", atMs: 2, ...more });
  const end = { status: "complete", outcome: { outcome: "success" } };

  check("there is no thread", (await store.thread(thread)) === undefined && (await store.turns(thread)).length === 0);
  check("the first generation is 1", (await begin("a", { title: "Greetings" })) === 1);
  await refused("a thread has one unfinished turn", "busy", () => begin("b"));
  await refused("a turn begins once", "exists", () => begin("a"));
  await store.persist(key("a"), 1, batch(0, [block(0), block(1)]));
  await store.persist(key("a"), 1, batch(0, [block(0), block(1), block(2)]));
  await store.persist(key("a"), 1, batch(0, [block(0)], { checkpoint: "s0" }));
  await refused("a block is missing", "gap", () => store.persist(key("a"), 1, batch(4, [block(4)])));
  await refused("a number has one content", "conflict", () => store.persist(key("a"), 1, batch(0, [block(0, "another")])));
  await refused("there is no such turn", "noTurn", () => store.persist(key("z"), 1, batch(0, [])));
  const [{ owner, generation }] = await store.unfinished();
  check("it is unfinished", owner === "one" && generation === 1 && (await store.thread(thread)).unfinished.key.turn === "a");
  const claimed = await store.claim(key("a"), 1, "two");
  check("it is claimed with its newest checkpoint", claimed.generation === 2 && claimed.checkpoint === "s1");
  await refused("of two that claim one is first", "stale", () => store.claim(key("a"), 1, "three"));
  await refused("who has lost it writes no more", "stale", () => store.persist(key("a"), 1, batch(3, [block(3)])));
  await store.persist(key("a"), 2, batch(3, [], end));
  await store.persist(key("a"), 2, batch(3, [], end));
  await refused("the end stands", "closed", () => store.persist(key("a"), 2, batch(3, [block(3)])));
  await refused("nobody claims what has ended", "closed", () => store.claim(key("a"), 2, "three"));
  const { blocks, status, outcome } = await store.turn(key("a"));
  check("all of it is there", status === "complete" && outcome.outcome === "success" && blocks.length === 3 && blocks[2].block.content.text === "2" && blocks[2].atMs === 2);
  await refused("a parent is there", "noTurn", () => begin("b", { parent: "z" }));
  await begin("b", { parent: "a", title: "Another", atMs: 3 });
  const record = await store.thread(thread);
  check("a thread keeps its title", record.title === "Greetings" && record.latest === "b" && record.createdAtMs === 1 && record.updatedAtMs === 3);
  check("turns are in order", (await store.turns(thread)).map(({ id, parent }) => `${parent}-${id}`).join() === "undefined-a,a-b");
  check("it is deleted", (await store.deleteThread(thread)) && !(await store.deleteThread(thread)));
  check("with all that it held", (await store.turn(key("a"))) === undefined && (await store.unfinished()).length === 0);
  return wrong;
}
