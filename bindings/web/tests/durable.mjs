// An Agent with a store: what stands there when, what a later page goes on from, and stores that fail.

import { answer, calls, clock, config, says } from "./agent.mjs";
import { memoryStore } from "./memory_store.mjs";
import { storeContract } from "./store_contract.mjs";

/** A promise, and what fulfils it. */
function gate() {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { open, opened };
}

/** What is wrong. */
export async function durable(stepwell) {
  const { Agent, Deferred, StoreError } = stepwell;
  const wrong = await storeContract(memoryStore(stepwell), stepwell);
  const check = (what, holds) => holds || wrong.push(`Agent with a store: ${what}`);
  const requests = [];
  const agent = (answers, options = {}) => {
    const store = options.store ?? memoryStore(stepwell);
    const fetch = async (_, { body, signal }) => {
      requests.push(JSON.parse(body).messages.map(({ content }) => content));
      const next = answers.shift();
      if (next === "stalls") return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      return next;
    };
    return { store, agent: new Agent({ ...config, fetch, clock: clock(), threadId: "thread-1", ...options, store }) };
  };
  const thread = { server: "", room: "", thread: "thread-1" };
  const settled = () => new Promise(setImmediate);
  /** One by which a store may take its time. */
  const patient = () => {
    const { setTimeout, ...rest } = clock();
    return { ...rest, setTimeout: (callback, ms) => (ms < 30_000 ? setTimeout(callback, ms) : undefined) };
  };
  const unavailable = () => Promise.reject(new StoreError("unavailable", "no connection"));

  {
    const stored = [];
    const add = { name: "add", description: "Adds.", execute: async () => (stored.push((await store.turns(thread))[0].blocks.length), 3) };
    const { agent: one, store } = agent([answer(calls("add")), answer(says("Three."))], { tools: [add] });
    store.before = (name) => name === "beginTurn" && check("no request goes out before the turn is stored", requests.length === 0);
    const { text } = await one.sendAndWait("1 + 2?");
    store.before = () => {};
    const [turn] = await store.turns(thread);
    check("the answer is whole", text === "Three.");
    check("a call is stored before its tool runs", stored[0] > 0);
    check("the turn is stored with its end", turn.status === "complete" && turn.outcome.outcome === "success" && turn.message.content === "1 + 2?");
    check("the thread has a title", (await store.thread(thread)).title === "1 + 2?");
    const { agent: later } = agent([answer(says("Four."))], { store, tools: [add] });
    await later.sendAndWait("And one more?");
    check("a later page goes on from what is stored", requests.at(-1).join() === "1 + 2?,,3,Three.,And one more?");
    check("after the turn before", (await store.turns(thread))[1].parent === turn.id);
    const again = agent([answer(says("Two."))], { store }).agent;
    const resent = await (await again.resend(turn.id, "1 + 1?")).finish();
    check("another branch begins before the turn", resent.text === "Two." && requests.at(-1).join() === "1 + 1?");
    check("beside it", (await store.turns(thread))[2].parent === undefined);
    const missing = await again.resend("nothing", "?").catch((error) => error);
    check("there is no such turn to say otherwise", missing instanceof StoreError && missing.kind === "noTurn");
    check("a thread is deleted", (await again.deleteThread("thread-1")) && (await store.thread(thread)) === undefined && !(await again.deleteThread("thread-1")));
  }
  {
    const { agent: one, store } = agent([answer(says("One.")), answer(says("Three."))]);
    await one.sendAndWait("First");
    await agent([answer(says("Two."))], { store }).agent.sendAndWait("Second");
    await one.sendAndWait("Third");
    check("what another page has said meanwhile goes along", requests.at(-1).join() === "First,One.,Second,Two.,Third");
  }
  {
    // A page that is gone, and one that lives.
    const { agent: one, store } = agent(["stalls"]);
    const turn = one.send("Hello");
    await turn.begun;
    await settled();
    const { agent: other } = agent([answer(says("Hi."))], { store });
    check("what is under way elsewhere is left alone", (await other.recover()).length === 0);
    const [{ key, generation }] = await store.unfinished();
    await store.claim(key, generation, "of a page that is gone");
    const [{ key: found, turn: recovered }] = await other.recover();
    const { text } = await recovered.finish();
    check("what a page has left goes on", text === "Hi." && found.turn === key.turn && other.thread(found.thread).messages.at(-1).content === "Hi.");
    check("its owner has ended it", (await store.turn(key)).status === "complete" && (await other.recover()).length === 0);
    turn.cancel();
    const lost = [];
    for await (const event of turn) lost.push(event);
    check("who lost a turn writes no more, and says so", lost.some(({ type, message }) => type === "warning" && /stops here/.test(message)));
    check("and changes nothing", (await store.turn(key)).status === "complete");
  }
  for (const when of ["before", "after"]) {
    // A page that is gone at any write: the next one goes on, and no tool runs twice.
    let cut = 0;
    for (let isOver = false; !isOver; cut += 1) {
      let runs = 0;
      const tools = [{ name: "add", description: "Adds.", execute: () => (runs += 1) }];
      const model = { shift: () => answer(requests.at(-1).length > 1 ? says("Done.") : calls("add")) };
      const { agent: first, store } = agent(model, { tools, clock: patient() });
      const { opened: gone, open: go } = gate();
      let writes = 0;
      store[when] = (name) => name === "persist" && (writes += 1) > cut && (go(), new Promise(() => {}));
      isOver = await Promise.race([gone.then(() => false), first.send("Add").finish().then(() => true)]);
      if (isOver) break;
      store[when] = () => {};
      const [left] = await store.unfinished();
      if (left) {
        await store.claim(left.key, left.generation, "of a page that is gone");
        const [{ turn }] = await agent(model, { store, tools }).agent.recover();
        await turn.finish();
      }
      const [{ status, blocks }] = await store.turns(thread);
      const texts = blocks.map(({ block }) => block.content.text);
      check(`cut ${when} write ${cut}: ${status}, ${runs} runs, ${texts}`, status === "complete" && runs <= 1 && texts.includes("Done."));
    }
    check(`${cut} writes were cut`, cut >= 3);
  }
  {
    // Whoever sends on a thread stops the turn that a page has left there.
    const { agent: one, store } = agent(["stalls"]);
    const left = one.send("First");
    await left.begun;
    const [{ key, generation }] = await store.unfinished();
    await store.claim(key, generation, "of a page that is gone");
    const { agent: other } = agent([answer(says("Second."))], { store });
    await other.sendAndWait("Second");
    const [first, second] = await store.turns(thread);
    check("a turn that was left is stopped", first.status === "cancelled" && second.parent === first.id && requests.at(-1).includes("First"));
    left.cancel();
    await left.finish();
  }
  {
    const order = { name: "order", description: "Orders.", execute: () => Promise.reject(new Deferred()) };
    const { agent: one, store } = agent([answer(calls("order"))], { tools: [order] });
    const turn = one.thread("orders").send("Order it");
    await turn.rested();
    const snapshot = await turn.suspend();
    const { agent: later } = agent([answer(says("It came."))], { store, tools: [order] });
    const revived = later.revive(snapshot);
    let early;
    try {
      revived.finishCall("call", "delivered");
    } catch (error) {
      early = error;
    }
    check("before it has begun it says so", early?.kind === "misuse" && /turn\.begun/.test(early.advice));
    await revived.begun;
    revived.finishCall("call", "delivered");
    const { text } = await revived.finish();
    check("a turn is revived on its own thread", text === "It came." && later.thread("orders").messages.at(-1).content === "It came." && later.messages.length === 0);
  }
  {
    // The tool waits for its call to be stored.
    const { opened, open } = gate();
    let runs = 0;
    const tool = { name: "add", description: "Adds.", execute: () => (runs += 1) };
    const { agent: one, store } = agent([answer(calls("add")), answer(says("Done."))], { tools: [tool], clock: patient() });
    store.before = (name) => name === "persist" && opened;
    const turn = one.send("Add");
    for (let step = 0; step < 20; step += 1) await settled();
    check("no tool runs whose call is not stored", runs === 0 && requests.at(-1).length === 1);
    open();
    check("and then it runs", (await turn.finish()).text === "Done." && runs === 1);
  }
  {
    let failures = 0;
    const { agent: one, store } = agent([answer(says("Done."))]);
    store.before = (name) => (name === "persist" || name === "beginTurn") && (failures += 1) % 3 !== 0 && unavailable();
    const turn = one.send("Hello");
    const seen = [];
    for await (const event of turn) seen.push(event);
    check("a store that is away is waited for", turn.outcome.outcome === "success" && seen.filter(({ message }) => /waits for its store/.test(message)).length >= 4);
    check("the end comes last, when it is stored", seen.at(-1).type === "completed" && (await store.turns(thread))[0].status === "complete");
  }
  {
    let isLost = false;
    const { agent: one, store } = agent([answer(says("Done."))]);
    store.after = (name) => name === "beginTurn" && !isLost && ((isLost = true), unavailable());
    check("a turn that was stored though it was not said so is its own", (await one.sendAndWait("Hello")).text === "Done." && (await store.turns(thread)).length === 1);
  }
  {
    const before = requests.length;
    const { agent: one, store } = agent([]);
    store.before = (name) => name === "beginTurn" && Promise.reject(new StoreError("readOnly", "the disk is full of rights"));
    const error = await one.sendAndWait("Hello").catch((error) => error);
    check("a turn that cannot be stored does not begin", error.problem?.kind === "notStored" && /full of rights/.test(error.message) && requests.length === before);
    check("and nothing runs", one.registry.running().length === 0);
  }
  {
    let runs = 0;
    const tool = { name: "add", description: "Adds.", execute: () => (runs += 1) };
    const { agent: one, store } = agent([answer(calls("add")), answer(says("Done."))], { tools: [tool], persistAttempts: 2 });
    let tries = 0;
    store.before = (name) => name === "persist" && (tries += 1) < 4 && unavailable();
    const { outcome } = await one.send("Add").finish();
    check(`a turn that cannot be stored has failed: ${JSON.stringify(outcome)}`, outcome.outcome === "failed" && outcome.failure.failure === "notStored" && runs === 0);
    const [{ status }] = await store.turns(thread);
    check(`and is stored as such, when it can be: ${status}`, status === "failed");
  }
  {
    const { agent: one, store } = agent([answer(says("Done.")), answer(says("More."))]);
    store.before = (name) => name === "persist" && unavailable();
    const seen = [];
    for await (const event of one.send("Hello")) seen.push(event);
    check("an end that cannot be stored is told", seen.at(-1).outcome.outcome === "success" && /end of the turn could not be stored/.test(seen.at(-2).message));
    store.before = () => {};
    await one.sendAndWait("And?");
    const statuses = (await store.turns(thread)).map(({ status }) => status);
    check(`the next turn ends it: ${statuses}`, statuses.join() === "cancelled,complete");
  }
  {
    let tries = 0;
    const { agent: one, store } = agent([answer(says("Done."))], { waitForStore: true });
    store.before = (name) => name === "persist" && (tries += 1) < 30 && unavailable();
    check("who waits however long it takes is told once", (await one.sendAndWait("Hello")).text === "Done." && tries >= 30);
  }
  {
    const { opened, open } = gate();
    const { agent: one, store } = agent([answer(says("Second."))], { clock: patient() });
    store.before = (name) => name === "beginTurn" && opened;
    const first = one.send("First");
    first.cancel();
    const second = one.send("Second");
    open();
    check("a turn that is stopped before it begins", (await first.finish()).outcome.outcome === "cancelled" && (await second.finish()).text === "Second.");
    const statuses = (await store.turns(thread)).map(({ status }) => status);
    check(`is stored as such: ${statuses}`, statuses.join() === "cancelled,complete");
  }
  {
    const thrown = (call) => {
      try {
        return call();
      } catch (error) {
        return error;
      }
    };
    check("there is a store to keep turns in", thrown(() => new Agent({ ...config, persistAttempts: 3 })).kind === "configuration");
    const none = new Agent(config);
    check("without a store nothing is recovered", (await none.recover()).length === 0 && !(await none.deleteThread("t")));
    check("and nothing sent again", (await none.resend("turn", "?").catch((error) => error)).kind === "misuse");
  }
  return wrong;
}
