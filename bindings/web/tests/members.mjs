// What an Agent and a Turn have beside `send` and `finish`, under Node and in a page.

import { answer, calls, config, says } from "./agent.mjs";
import { memoryStore } from "./memory_store.mjs";

/** What is wrong. */
export async function members(stepwell) {
  const { Agent, Deferred, RunRegistry, StoreError } = stepwell;
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`members: ${what}`);
  const thrown = (call) => {
    try {
      call();
    } catch (error) {
      return error;
    }
    return undefined;
  };
  const agent = (answers, options = {}) => {
    const requests = [];
    const fetch = async (_, { body, signal }) => {
      requests.push(JSON.parse(body).messages?.map(({ content }) => content));
      const next = answers.shift();
      if (next === "stalls") return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      return answer(next);
    };
    return { requests, agent: new Agent({ ...config, fetch, threadId: "garden", ...options }) };
  };
  const said = (messages) => messages.map(({ content }) => content).join();
  const garden = { server: "", room: "", thread: "garden" };

  {
    const { agent: one, requests } = agent([says("One."), says("Two.")]);
    const turn = one.start({ runId: "first", text: "First" });
    const { outcome } = await turn.finish();
    check("a turn has the id that it is given", outcome.outcome === "success" && one.messages[0].id === "first-user");
    check("and no store", turn.stored === undefined && turn.storeTrouble === undefined && turn.revivedFrom === undefined);
    await one.start({ runId: "second", message: { id: "mine", role: "user", content: "Second" } }).finish();
    check("a message of the app's own", one.messages[2].id === "mine" && requests[1].join() === "First,One.,Second");
    check("but not two", thrown(() => one.start({ runId: "third", text: "a", message: one.messages[2] }))?.kind === "misuse");
    check("there is nothing to branch from", thrown(() => one.branch("first", { runId: "third", text: "Third" }))?.kind === "misuse");
  }
  {
    const store = memoryStore(stepwell);
    const { agent: one } = agent([says("One."), says("Two."), says("Three."), says("Four.")], { store });
    const turn = one.start({ runId: "first", text: "First" });
    check("it is not stored yet", turn.stored === undefined);
    await turn.begun;
    check("then it is", JSON.stringify(turn.stored) === JSON.stringify({ key: { thread: one.threadKey, turn: "first" }, generation: 1 }));
    await turn.finish();
    await one.start({ runId: "second", text: "Second" }).finish();
    await one.branch("first", { runId: "other", text: "Otherwise" }).finish();
    check("another branch goes on from its parent", said(one.messages) === "First,One.,Otherwise,Three.");
    await one.branch(undefined, { runId: "anew", text: "Anew" }).finish();
    check("or from nothing", said(one.messages) === "Anew,Four.");
    check("all are stored", (await store.turns(garden)).map(({ parent }) => parent).join() === ",first,first,");
    const missing = await one.branch("nothing", { runId: "lost", text: "?" }).finish();
    check("a parent that there is not", missing.outcome.problem?.kind === "notStored");
  }
  {
    // A registry that two agents share.
    const registry = new RunRegistry();
    const first = agent([says("Hello."), "stalls"], { registry }).agent;
    const second = agent([says("Mine.")], { registry }).agent;
    check("the registry is the one that was given", first.registry === registry);
    const key = { thread: "diary", room: "kitchen" };
    const diary = first.threadWithHistory(key, [{ id: "m", role: "user", content: "Before" }], { pages: 1 });
    check("a thread has its key", JSON.stringify(diary.threadKey) === JSON.stringify({ thread: "diary", room: "kitchen", server: "" }));
    check("a thread begins with a history", said(diary.messages) === "Before" && diary.sharedState.pages === 1);
    check("one that is there is as it is", said(first.threadWithHistory(key, []).messages) === "Before");
    check("what is no history says so", thrown(() => first.threadWithHistory("x", [{ role: "nobody" }]))?.kind === "invalidArgument");
    const waiting = [first.nextRegistryEvent(), second.nextRegistryEvent()];
    await diary.sendAndWait("Hi");
    const events = await Promise.all(waiting);
    const types = events.map(({ type }) => type).join();
    check(`each event goes to one caller: ${types}`, types === "runStarted,runCompleted");
    check("it is of the thread", events[0].handle.key.thread === "diary");
    check("what nobody waited for comes next", (await second.nextRegistryEvent()).type === "unread");
    check("the thread is unread", registry.unread(key));
    first.forgetThread(key);
    check("it is forgotten", first.thread(key).messages.length === 0 && !registry.unread(key));

    const taken = first.send("Mine?");
    await taken.begun;
    check("the other agent takes the thread over", (await second.send("No, mine.", { whenBusy: "cancel" }).finish()).text === "Mine.");
    check("what is told to the first one is refused", thrown(() => taken.steer("Still?"))?.kind === "misuse");
    check("and it is over", (await taken.finish()).outcome.outcome === "cancelled" && registry.running().length === 0);
  }
  {
    const asked = [];
    const runSource = async (run) => {
      asked.push(run);
      if (run.threadId !== "garden") throw new Error("the backend is away");
      return `run-${asked.length}`;
    };
    const add = { name: "add", description: "Adds.", execute: () => 3 };
    const { agent: one } = agent([calls("add"), says("Three.")], { runSource, tools: [add] });
    check("the backend makes the runs", (await one.sendAndWait("1 + 2?")).text === "Three.");
    check("each after the one before", asked.length === 2 && asked[0].parentRunId === undefined && asked[1].parentRunId === "run-1");
    const { outcome } = await one.thread("elsewhere").send("Hi").finish();
    check("a backend that is away", /the backend is away/.test(outcome.message));
  }
  {
    const history = [0, 1, 2].map((each) => ({ id: `m${each}`, role: "user", content: "x".repeat(4000) }));
    let overflow;
    const trimmed = (trimContext) => agent([says("Yes.")], { contextGuard: { window: 1500 }, history, trimContext });
    const half = (given, messages) => {
      overflow = given;
      check("its messages are there", messages.length === given.messages.length);
      return { keep: given.newest(0.5), summary: "There were many x." };
    };
    const { agent: one, requests } = trimmed(half);
    await one.sendAndWait("And?");
    check("what fits goes out", requests[0].join().length < 4100 && /many x/.test(requests[0].join()));
    check("the history stays whole", one.messages.length === 5 && overflow.tokens > overflow.window);
    check("a list is enough", (await trimmed(async (given) => given.newest(0.5)).agent.send("And?").finish()).text === "Yes.");
    for (const nothing of [() => undefined, () => Promise.reject(new Error("no idea"))]) {
      const { outcome } = await trimmed(nothing).agent.send("And?").finish();
      check("what cannot be shortened fails", outcome.problem?.kind === "contextTooLong");
    }
    check("there is code for it", thrown(() => new Agent({ ...config, contextGuard: { atLimit: "trim" } }))?.kind === "configuration");
  }
  for (const store of [undefined, memoryStore(stepwell)]) {
    const order = { name: "order", description: "Orders.", execute: () => Promise.reject(new Deferred()) };
    let journal = "";
    const options = { tools: [order], store, sharedState: { table: 4 }, journal: (_, lines) => (journal += lines) };
    const { agent: one } = agent([calls("order"), says("Enjoy!")], options);
    const turn = one.send("Tea");
    const seen = (async () => {
      const kinds = [];
      for await (const { type } of turn) kinds.push(type);
      return kinds;
    })();
    await turn.rested();
    check("the conversation in the middle of it", turn.messages[0].content === "Tea" && one.messages.length === 0);
    check("the state, the cost, the questions", turn.interrupts.length === 0 && typeof turn.usage === "object" && turn.sharedState.table === 4);
    const snapshot = await turn.suspend();
    check("its events end without an end", !(await seen).includes("completed") && turn.outcome === undefined);
    check("it takes nothing more", thrown(() => turn.steer("More"))?.kind === "misuse" && thrown(() => turn.messages)?.kind === "misuse");
    check("nobody waits for its end", /suspended/.test((await turn.finish().catch((error) => error)).message));
    check("the thread stays its own", one.registry.running().length === 1 && one.messages.length === 0);
    check("its journal is closed", "end" in JSON.parse(journal.trimEnd().split("\n").at(-1)));
    const revived = one.revive(snapshot);
    await revived.begun;
    check("it goes on from there", revived.revivedFrom[0].content === "Tea" && one.registry.running().length === 1);
    revived.finishCall("call", "here");
    check("to its end", (await revived.finish()).text === "Enjoy!" && one.registry.running().length === 0);
    check("after which there is nothing to look at", thrown(() => revived.usage)?.kind === "misuse");
  }
  {
    // A turn that is let go of waits for its store no longer.
    const store = memoryStore(stepwell);
    const add = { name: "add", description: "Adds.", execute: () => 3 };
    const { agent: one } = agent([calls("add"), says("More.")], { store, waitForStore: true, tools: [add] });
    store.before = (name) => name === "persist" && Promise.reject(new StoreError("full", "no room"));
    const turn = one.send("Hello");
    for await (const { type } of turn) {
      if (type !== "warning") continue;
      check("what keeps it waiting", turn.storeTrouble?.kind === "full");
      await turn.suspend();
    }
    store.before = () => {};
    const later = one.send("Again");
    check("the next one ends it", (await later.finish()).text === "More." && later.storeTrouble === undefined);
    check("in the store", (await store.turns(garden)).map(({ status }) => status).join() === "cancelled,complete");
    store.before = (name) => name === "beginTurn" && Promise.reject(new StoreError("readOnly", "for reading"));
    const kept = one.send("Once more");
    await kept.begun;
    check("or why it did not begin", kept.storeTrouble?.kind === "readOnly");
  }
  {
    // One that is over, but for its last write, cannot be let go of any more; nobody waits for the store then.
    const store = memoryStore(stepwell);
    const { agent: one } = agent([says("Done.")], { store, waitForStore: true });
    store.before = (name, ...[, , batch]) => name === "persist" && batch.status !== "streaming" && Promise.reject(new StoreError("full", "no room"));
    const turn = one.send("Hello");
    let refused;
    for await (const { type } of turn) if (type === "warning" && !refused) refused = await turn.suspend().catch((error) => error);
    check("a turn that is over is not suspended", refused?.kind === "misuse" && (await turn.finish()).text === "Done.");
    check("its end is for the next one to store", (await store.unfinished()).length === 1);
  }
  return wrong;
}
