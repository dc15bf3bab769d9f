// An Agent with a store: what stands there when, what a later page goes on from, and stores that fail.

import { answer, calls, clock, ended, model, says } from "./agent.mjs";
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
  const { Agent, Deferred, RunRegistry, StoreError } = stepwell;
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
    const definition = new Agent({ model, fetch, clock: clock(), ...options, store });
    return { store, definition, agent: definition.conversation("thread-1") };
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
    const { text } = await one.send("1 + 2?");
    store.before = () => {};
    const [turn] = await store.turns(thread);
    check("the answer is whole", text === "Three.");
    check("a call is stored before its tool runs", stored[0] > 0);
    check("the turn is stored with its end", turn.status === "complete" && turn.outcome.outcome === "success" && turn.message.content === "1 + 2?");
    check("the thread has a title", (await store.thread(thread)).title === "1 + 2?");
    const { agent: later } = agent([answer(says("Four."))], { store, tools: [add] });
    await later.send("And one more?");
    check("a later page goes on from what is stored", requests.at(-1).join() === "1 + 2?,,3,Three.,And one more?");
    check("after the turn before", (await store.turns(thread))[1].parent === turn.id);
    const again = agent([answer(says("Two."))], { store }).agent;
    const resent = await again.resend(turn.id, "1 + 1?").result;
    check("another branch begins before the turn", resent.text === "Two." && requests.at(-1).join() === "1 + 1?");
    check("beside it", (await store.turns(thread))[2].parent === undefined);
    const missing = await ended(again.resend("nothing", "?"));
    check("there is no such turn to say otherwise", missing.kind === "store" && missing.code === "noTurn" && missing.cause instanceof StoreError);
    check("a thread is deleted", (await again.delete()) && (await store.thread(thread)) === undefined && !(await again.delete()) && again.messages.length === 0);
  }
  {
    const { agent: one, store } = agent([answer(says("One.")), answer(says("Three."))]);
    await one.send("First");
    await agent([answer(says("Two."))], { store }).agent.send("Second");
    await one.send("Third");
    check("what another page has said meanwhile goes along", requests.at(-1).join() === "First,One.,Second,Two.,Third");
  }
  {
    // A page that is gone, and one that lives.
    const { agent: one, store } = agent(["stalls"]);
    const turn = one.stream("Hello");
    await turn.begun;
    await settled();
    const { definition: other } = agent([answer(says("Hi."))], { store });
    check("what is under way elsewhere is left alone", (await other.recover()).length === 0);
    const [{ key, generation }] = await store.unfinished();
    await store.claim(key, generation, "of a page that is gone");
    const [{ key: found, conversation, turn: recovered }] = await other.recover();
    const { text } = await recovered.result;
    check("what a page has left goes on", text === "Hi." && found.turn === key.turn && conversation.messages.at(-1).content === "Hi." && conversation.id === found.thread.thread);
    check("its owner has ended it", (await store.turn(key)).status === "complete" && (await other.recover()).length === 0);
    turn.cancel();
    const lost = [];
    await (async () => {
      for await (const event of turn) lost.push(event);
    })().catch(() => {});
    check("who lost a turn writes no more, and says so", lost.some(({ type, message }) => type === "warning" && /stops here/.test(message)));
    check("and changes nothing", (await store.turn(key)).status === "complete");
  }
  for (const when of ["before", "after"]) {
    // A page that is gone at any write: the next one goes on, and no tool runs twice.
    let cut = 0;
    for (let isOver = false; !isOver; cut += 1) {
      let runs = 0;
      const tools = [{ name: "add", description: "Adds.", execute: () => (runs += 1) }];
      const model_ = { shift: () => answer(requests.at(-1).length > 1 ? says("Done.") : calls("add")) };
      const { agent: first, store } = agent(model_, { tools, clock: patient() });
      const { opened: gone, open: go } = gate();
      let writes = 0;
      store[when] = (name) => name === "persist" && (writes += 1) > cut && (go(), new Promise(() => {}));
      isOver = await Promise.race([gone.then(() => false), first.send("Add").then(() => true)]);
      if (isOver) break;
      store[when] = () => {};
      const [left] = await store.unfinished();
      if (left) {
        await store.claim(left.key, left.generation, "of a page that is gone");
        const [{ turn }] = await agent(model_, { store, tools }).definition.recover();
        await turn.result;
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
    const left = one.stream("First");
    await left.begun;
    const [{ key, generation }] = await store.unfinished();
    await store.claim(key, generation, "of a page that is gone");
    const { agent: other } = agent([answer(says("Second."))], { store });
    await other.send("Second");
    const [first, second] = await store.turns(thread);
    check("a turn that was left is stopped", first.status === "cancelled" && second.parent === first.id && requests.at(-1).includes("First"));
    left.cancel();
    await ended(left);
  }
  {
    const order = { name: "order", description: "Orders.", execute: () => Promise.reject(new Deferred()) };
    const { definition: one, store } = agent([answer(calls("order"))], { tools: [order] });
    const turn = one.conversation("orders").stream("Order it");
    await turn.rested();
    const snapshot = await turn.suspend();
    const later = agent([answer(says("It came."))], { store, tools: [order] }).definition.conversation("orders");
    const revived = later.revive(snapshot);
    let early;
    try {
      revived.resolveCall("call", "delivered");
    } catch (error) {
      early = error;
    }
    check("before it has begun it says so", early?.kind === "misuse" && /turn\.begun/.test(early.advice));
    await revived.begun;
    revived.resolveCall("call", "delivered");
    const { text } = await revived.result;
    check("a turn is revived on its own thread", text === "It came." && later.messages.at(-1).content === "It came.");
  }
  {
    // The tool waits for its call to be stored.
    const { opened, open } = gate();
    let runs = 0;
    const tool = { name: "add", description: "Adds.", execute: () => (runs += 1) };
    const { agent: one, store } = agent([answer(calls("add")), answer(says("Done."))], { tools: [tool], clock: patient() });
    store.before = (name) => name === "persist" && opened;
    const turn = one.stream("Add");
    for (let step = 0; step < 20; step += 1) await settled();
    check("no tool runs whose call is not stored", runs === 0 && requests.at(-1).length === 1);
    open();
    check("and then it runs", (await turn.result).text === "Done." && runs === 1);
  }
  {
    let failures = 0;
    const { agent: one, store } = agent([answer(says("Done."))]);
    store.before = (name) => (name === "persist" || name === "beginTurn") && (failures += 1) % 3 !== 0 && unavailable();
    const turn = one.stream("Hello");
    const seen = [];
    for await (const update of turn) seen.push(update);
    check("the loop ends when the end is stored", (await store.turns(thread))[0].status === "complete");
    check("a store that is away is waited for", (await turn.result).stopReason === "success" && seen.filter(({ message }) => /waits for its store/.test(message)).length >= 4);
  }
  {
    let isLost = false;
    const { agent: one, store } = agent([answer(says("Done."))]);
    store.after = (name) => name === "beginTurn" && !isLost && ((isLost = true), unavailable());
    check("a turn that was stored though it was not said so is its own", (await one.send("Hello")).text === "Done." && (await store.turns(thread)).length === 1);
  }
  {
    const before = requests.length;
    const registry = new RunRegistry();
    const { agent: one, store } = agent([], { registry });
    store.before = (name) => name === "beginTurn" && Promise.reject(new StoreError("readOnly", "the disk is full of rights"));
    const error = await one.send("Hello").catch((error) => error);
    check("a turn that cannot be stored does not begin", error.kind === "store" && error.code === "readOnly" && /full of rights/.test(error.message) && requests.length === before);
    check("and nothing runs", registry.running().length === 0);
  }
  {
    let runs = 0;
    const tool = { name: "add", description: "Adds.", execute: () => (runs += 1) };
    const { agent: one, store } = agent([answer(calls("add")), answer(says("Done."))], { tools: [tool], persistAttempts: 2 });
    let tries = 0;
    store.before = (name) => name === "persist" && (tries += 1) < 4 && unavailable();
    const error = await one.send("Add").catch((error) => error);
    check(`a turn that cannot be stored has failed: ${error}`, error.kind === "store" && error.result.stopReason === "failed" && runs === 0);
    const [{ status }] = await store.turns(thread);
    check(`and is stored as such, when it can be: ${status}`, status === "failed");
  }
  {
    const { agent: one, store } = agent([answer(says("Done.")), answer(says("More."))]);
    store.before = (name) => name === "persist" && unavailable();
    const seen = [];
    const turn = one.stream("Hello");
    for await (const update of turn) seen.push(update);
    check("an end that cannot be stored is told", (await turn.result).stopReason === "success" && /end of the turn could not be stored/.test(seen.at(-1).message));
    store.before = () => {};
    await one.send("And?");
    const statuses = (await store.turns(thread)).map(({ status }) => status);
    check(`the next turn ends it: ${statuses}`, statuses.join() === "cancelled,complete");
  }
  {
    let tries = 0;
    const { agent: one, store } = agent([answer(says("Done."))], { waitForStore: true });
    store.before = (name) => name === "persist" && (tries += 1) < 30 && unavailable();
    check("who waits however long it takes is told once", (await one.send("Hello")).text === "Done." && tries >= 30);
  }
  {
    const { opened, open } = gate();
    const { agent: one, store } = agent([answer(says("Second."))], { clock: patient() });
    store.before = (name) => name === "beginTurn" && opened;
    const first = one.stream("First");
    first.cancel();
    const second = one.stream("Second");
    open();
    check("a turn that is stopped before it begins", (await ended(first)).kind === "cancelled" && (await second.result).text === "Second.");
    const statuses = (await store.turns(thread)).map(({ status }) => status);
    check(`is stored as such: ${statuses}`, statuses.join() === "cancelled,complete");
  }
  {
    const none = new Agent({ model });
    check("without a store nothing is recovered", (await none.recover()).length === 0 && !(await none.conversation("t").delete()));
    let thrown;
    try {
      none.conversation("t").resend("turn", "?");
    } catch (error) {
      thrown = error;
    }
    check("and nothing sent again", thrown?.kind === "misuse");
  }
  {
    // A conversation may have a store of its own.
    const [own, other] = [memoryStore(stepwell), memoryStore(stepwell)];
    const { definition } = agent([answer(says("One.")), answer(says("Two.")), answer(says("Three."))], { store: other });
    const talk = definition.conversation("thread-1", { store: own });
    await talk.send("First");
    await definition.run("Nowhere");
    check("what is no conversation is not stored", (await own.turns(thread)).length === 1 && (await other.turns(thread)).length === 0);
    const again = definition.conversation({ id: "thread-1", store: own });
    check("the same one is found by its store", again.messages === talk.messages && definition.conversation("thread-1").messages.length === 0);
  }
  return wrong;
}
