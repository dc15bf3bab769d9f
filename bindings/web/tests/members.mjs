// What a conversation and a turn have in addition to `send` and `result`, under Node and in a page.

import { answer, calls, ended, model, says } from "./agent.mjs";
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
  const agent = (answers, { history, sharedState, ...options } = {}) => {
    const requests = [];
    const fetch = async (_, { body, signal }) => {
      requests.push(JSON.parse(body).messages?.map(({ content }) => content));
      const next = answers.shift();
      if (next === "stalls") return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      return answer(next);
    };
    const definition = new Agent({ model, fetch, ...options });
    return { requests, definition, agent: definition.conversation({ id: "garden", history, sharedState }) };
  };
  const said = (messages) => messages.map(({ content }) => content).join();
  const garden = { server: "", room: "", thread: "garden" };

  {
    const { agent: one, requests } = agent([says("One."), says("Two.")]);
    const turn = one.stream("First", { turnId: "first" });
    const { stopReason } = await turn.result;
    check("a turn has the id that it is given", stopReason === "success" && one.messages[0].id === "first-user");
    check("and no store", turn.stored === undefined && turn.storeTrouble === undefined && turn.revivedFrom === undefined);
    await one.send({ id: "mine", role: "user", content: "Second" });
    check("a message of the app's own", one.messages[2].id === "mine" && requests[1].join() === "First,One.,Second");
    check("there is nothing to branch from", thrown(() => one.branch("first", "Third"))?.kind === "misuse");
  }
  {
    const { agent: one, requests } = agent([says("Yes.")], { history: [{ id: "m", role: "user", content: "Well?" }] });
    check("a history may be answered as it is", (await one.send(null)).text === "Yes." && requests[0].join() === "Well?");
  }
  {
    const store = memoryStore(stepwell);
    const { agent: one } = agent([says("One."), says("Two."), says("Three."), says("Four.")], { store });
    const turn = one.stream("First", { turnId: "first" });
    check("it is not stored yet", turn.stored === undefined);
    await turn.begun;
    check("then it is", JSON.stringify(turn.stored) === JSON.stringify({ key: { thread: one.key, turn: "first" }, generation: 1 }));
    await turn.result;
    await one.send("Second");
    await one.branch("first", "Otherwise").result;
    check("another branch goes on from its parent", said(one.messages) === "First,One.,Otherwise,Three.");
    await one.branch(undefined, "Anew").result;
    check("or from nothing", said(one.messages) === "Anew,Four.");
    check("all are stored", (await store.turns(garden)).map(({ parent }) => parent).join() === ",first,first,");
    const missing = await ended(one.branch("nothing", "?"));
    check("a parent that there is not", missing.kind === "store");
  }
  {
    // A registry that two agents share.
    const registry = new RunRegistry();
    const { definition: first } = agent([says("Hello."), "stalls"], { registry });
    const { agent: second } = agent([says("Mine.")], { registry });
    const key = { thread: "diary", room: "kitchen" };
    const diary = first.conversation(key, { history: [{ id: "m", role: "user", content: "Before" }], sharedState: { pages: 1 } });
    check("a conversation has its key", JSON.stringify(diary.key) === JSON.stringify({ thread: "diary", room: "kitchen", server: "" }) && diary.id === "diary");
    check("it begins with a history", said(diary.messages) === "Before" && diary.sharedState.pages === 1);
    check("one that is there is as it is", said(first.conversation({ id: key, history: [] }).messages) === "Before");
    check("another id is another one", first.conversation("diary").messages.length === 0 && first.conversation().id !== first.conversation().id);
    check("what is no history says so", thrown(() => first.conversation("x", { history: [{ role: "nobody" }] }))?.code === "invalidArgument");
    const waiting = [registry.nextEvent(), registry.nextEvent()];
    await diary.send("Hi");
    const events = await Promise.all(waiting);
    const types = events.map(({ type }) => type).join();
    check(`each event goes to one caller: ${types}`, types === "runStarted,runCompleted");
    check("it is of the thread", events[0].handle.key.thread === "diary");
    check("what nobody waited for comes next", (await registry.nextEvent()).type === "unread");
    check("the thread is unread", registry.unread(key));
    await diary.delete();
    check("it is forgotten", diary.messages.length === 0 && first.conversation(key).messages.length === 0 && !registry.unread(key));

    const taken = first.conversation("garden").stream("Mine?");
    await taken.begun;
    check("the other agent takes the thread over", (await second.send("No, mine.", { whenBusy: "cancel" })).text === "Mine.");
    check("what is told to the first one is refused", thrown(() => taken.steer("Still?"))?.kind === "misuse");
    check("and it is over", (await ended(taken)).kind === "cancelled" && registry.running().length === 0);
  }
  {
    const asked = [];
    const runSource = async (run) => {
      asked.push(run);
      if (run.threadId !== "garden") throw new Error("the backend is away");
      return `run-${asked.length}`;
    };
    const add = { name: "add", description: "Adds.", execute: () => 3 };
    const { agent: one, definition } = agent([calls("add"), says("Three.")], { runSource, tools: [add] });
    check("the backend makes the runs", (await one.send("1 + 2?")).text === "Three.");
    check("each after the one before", asked.length === 2 && asked[0].parentRunId === undefined && asked[1].parentRunId === "run-1");
    const error = await definition.run("Hi").catch((error) => error);
    check("a backend that is away", /the backend is away/.test(error.message));
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
    await one.send("And?");
    check("what fits goes out", requests[0].join().length < 4100 && /many x/.test(requests[0].join()));
    check("the history stays whole", one.messages.length === 5 && overflow.tokens > overflow.window);
    check("a list is enough", (await trimmed(async (given) => given.newest(0.5)).agent.stream("And?").result).text === "Yes.");
    for (const nothing of [() => undefined, () => Promise.reject(new Error("no idea"))]) {
      const error = await trimmed(nothing).agent.send("And?").catch((error) => error);
      check("what cannot be shortened fails", error.kind === "contextTooLong");
    }
    check("there is code for it", thrown(() => new Agent({ model, contextGuard: { atLimit: "trim" } }))?.code === "configuration");
  }
  for (const store of [undefined, memoryStore(stepwell)]) {
    const order = { name: "order", description: "Orders.", execute: () => Promise.reject(new Deferred()) };
    let journal = "";
    const registry = new RunRegistry();
    const options = { registry, tools: [order], store, sharedState: { table: 4 }, journal: (_, lines) => (journal += lines) };
    const { agent: one } = agent([calls("order"), says("Enjoy!")], options);
    const turn = one.stream("Tea");
    const seen = (async () => {
      const kinds = [];
      for await (const { type } of turn) kinds.push(type);
      return kinds;
    })();
    await turn.rested();
    check("the conversation in the middle of it", turn.messages[0].content === "Tea" && one.messages.length === 0);
    check("the state, the cost, the questions", turn.interrupts.length === 0 && typeof turn.usage === "object" && turn.sharedState.table === 4);
    const snapshot = await turn.suspend();
    check("its updates end without an error", (await seen).includes("pending"));
    check("it takes nothing more", thrown(() => turn.steer("More"))?.kind === "misuse" && thrown(() => turn.messages)?.kind === "misuse");
    check("nobody waits for its end", /suspended/.test((await turn.result.catch((error) => error)).message));
    check("the thread stays its own", registry.running().length === 1 && one.messages.length === 0);
    check("its journal is closed", "end" in JSON.parse(journal.trimEnd().split("\n").at(-1)));
    const revived = one.revive(snapshot);
    await revived.begun;
    check("it goes on from there", revived.revivedFrom[0].content === "Tea" && registry.running().length === 1);
    revived.resolveCall("call", "here");
    check("to its end", (await revived.result).text === "Enjoy!" && registry.running().length === 0);
    check("after which there is nothing to look at", thrown(() => revived.usage)?.kind === "misuse");
  }
  {
    // A turn that is let go of waits for its store no longer.
    const store = memoryStore(stepwell);
    const add = { name: "add", description: "Adds.", execute: () => 3 };
    const { agent: one } = agent([calls("add"), says("More.")], { store, waitForStore: true, tools: [add] });
    store.before = (name) => name === "persist" && Promise.reject(new StoreError("full", "no room"));
    const turn = one.stream("Hello");
    for await (const { type } of turn) {
      if (type !== "warning") continue;
      check("what keeps it waiting", turn.storeTrouble?.code === "full");
      await turn.suspend();
    }
    store.before = () => {};
    const later = one.stream("Again");
    check("the next one ends it", (await later.result).text === "More." && later.storeTrouble === undefined);
    check("in the store", (await store.turns(garden)).map(({ status }) => status).join() === "cancelled,complete");
    store.before = (name) => name === "beginTurn" && Promise.reject(new StoreError("readOnly", "for reading"));
    const kept = one.stream("Once more");
    await kept.begun;
    check("or why it did not begin", kept.storeTrouble?.code === "readOnly");
  }
  {
    // One that is over, but for its last write, cannot be let go of any more; nobody waits for the store then.
    const store = memoryStore(stepwell);
    const { agent: one } = agent([says("Done.")], { store, waitForStore: true });
    store.before = (name, ...[, , batch]) => name === "persist" && batch.status !== "streaming" && Promise.reject(new StoreError("full", "no room"));
    const turn = one.stream("Hello");
    let refused;
    for await (const { type } of turn) if (type === "warning" && !refused) refused = await turn.suspend().catch((error) => error);
    check("a turn that is over is not suspended", refused?.kind === "misuse" && (await turn.result).text === "Done.");
    check("its end is for the next one to store", (await store.unfinished()).length === 1);
  }
  return wrong;
}
