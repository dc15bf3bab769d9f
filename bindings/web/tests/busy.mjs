// A thread whose turn is under way: what a second turn comes to, in the same page and, over a store, in another one.

import { answer, calls, clock, ended, model, says } from "./agent.mjs";
import { memoryStore } from "./memory_store.mjs";

const chunk = (content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;

/** An answer that says this and then nothing, until its request is aborted. */
export function stalling(content, signal) {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(chunk(content)));
      signal.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
  return answer(body);
}

/** Reads a turn's events until some of its text is there; the rest is left to `turn.result`. */
async function untilText(turn) {
  const events = turn[Symbol.asyncIterator]();
  for (let next = await events.next(); !next.done; next = await events.next()) {
    if (next.value.type === "TEXT_MESSAGE_CONTENT") return events;
  }
  throw new Error("the turn said nothing");
}

/** Returns the rest of the events, also of a turn that is cancelled. */
async function rest(events) {
  const all = [];
  try {
    for (let next = await events.next(); !next.done; next = await events.next()) all.push(next.value);
  } catch (error) {
    if (error.kind !== "cancelled") throw error;
  }
  return all;
}

/** What is wrong. */
export async function busy(stepwell) {
  const { Agent, Deferred, RunRegistry, StepwellError } = stepwell;
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`a busy thread: ${what}`);
  const agent = (answers, options = {}) => {
    const requests = [];
    const fetch = async (_, { body, signal }) => {
      requests.push(JSON.parse(body).messages.map(({ content }) => content));
      const next = answers.shift();
      return typeof next === "string" ? stalling(next, signal) : next;
    };
    return { talk: new Agent({ model, fetch, clock: clock(), ...options }).conversation("thread-1"), requests };
  };
  const isBusy = (error) => error instanceof StepwellError && error.kind === "busy" && error.result === undefined;
  const thread = { server: "", room: "", thread: "thread-1" };

  for (const instructions of [undefined, () => "Be brief."]) {
    const { talk, requests } = agent(["Half", answer(says("Third."))], { instructions });
    const first = talk.stream("First");
    const events = await untilText(first);
    const second = await talk.send("Second").catch((error) => error);
    check(`the second turn fails at once: ${second}`, isBusy(second));
    check("it sent nothing", requests.length === 1 && second.advice !== "" && second.message.length < 300);
    check("the first goes on", first.messages.length > 0);
    const third = await talk.send("Third", { whenBusy: "cancel" });
    check("with `cancel` the first is cancelled", (await ended(first)).kind === "cancelled" && third.text === "Third.");
    check("what it said goes along", requests.at(-1).join().endsWith("First,Half,Third"));
    await rest(events);
  }
  {
    const { talk } = agent(["Half", answer(says("Second."))], { whenBusy: "cancel" });
    const events = await untilText(talk.stream("First"));
    check("an agent may always cancel", (await talk.send("Second")).text === "Second.");
    await rest(events);
  }
  for (const store of [undefined, memoryStore(stepwell)]) {
    let go;
    const gate = new Promise((opened) => (go = opened));
    const { talk, requests } = agent([gate.then(() => answer(says("One."))), answer(says("Two.")), answer(says("Three.")), answer(says("Four."))], { whenBusy: "queue", store });
    const [first, second, third] = ["First", "Second", "Third"].map((text) => talk.stream(text));
    await first.begun;
    check("a turn that waits sends nothing", requests.length <= 1 && talk.messages.length === 0);
    const stopped = talk.stream("Never");
    stopped.cancel();
    check("one that waits can be cancelled", (await ended(stopped)).kind === "cancelled");
    go();
    const texts = (await Promise.all([third.result, second.result, first.result])).map(({ text }) => text);
    check(`turns wait for each other: ${texts}`, texts.join() === "Three.,Two.,One.");
    check(`in order: ${requests.at(-1)}`, requests.at(-1).join() === "First,One.,Second,Two.,Third" && requests.length === 3);
    check("and none is in the way", (await ended(talk.stream("Fourth", { whenBusy: "error" }))).kind !== "busy");
  }
  {
    const { talk, requests } = agent(["Half", answer(says("Last."))]);
    const events = await untilText(talk.stream("First"));
    const waits = talk.stream("Second", { whenBusy: "queue" });
    const last = await talk.send("Third", { whenBusy: "cancel" });
    check("with `cancel` those that wait are cancelled too", (await ended(waits)).kind === "cancelled" && last.text === "Last." && requests.length === 2);
    await rest(events);
  }
  {
    const registry = new RunRegistry();
    const one = agent(["Half"], { registry }).talk;
    const turn = one.stream("First");
    const events = await untilText(turn);
    check("the registry has it", registry.running().length === 1);
    const other = agent([answer(says("Second."))], { registry }).talk;
    check("an agent of the same registry is refused too", isBusy(await ended(other.stream("Second"))));
    await other.send("Second", { whenBusy: "cancel" });
    check("and cancels it at once", (await ended(turn)).kind === "cancelled" && registry.running().length === 0);
    await rest(events);
  }
  {
    // Two pages on one store.
    const store = memoryStore(stepwell);
    const one = agent(["Half of", answer(says("Again."))], { store }).talk;
    const first = one.stream("First");
    const events = await untilText(first);
    const { talk: two, requests } = agent([answer(says("Second."))], { store });
    check("another page is refused", isBusy(await ended(two.stream("Second"))) && requests.length === 0);
    check("and stores nothing", (await store.turns(thread)).length === 1);
    check("so is another branch", isBusy(await ended(two.resend((await store.turns(thread))[0].id, "Another"))));
    const second = await two.send("Second", { whenBusy: "cancel" });
    const told = await rest(events);
    check("the first page is told", (await ended(first)).kind === "cancelled" && told.some(({ type, message }) => type === "warning" && /another page/.test(message)));
    const [stored, next] = await store.turns(thread);
    const texts = stored.blocks.map(({ block }) => block.content.text);
    check(`what it had is stored: ${stored.status} ${texts}`, stored.status === "cancelled" && texts.join() === "Half of");
    check(`the second goes on from it: ${requests}`, second.text === "Second." && next.parent === stored.id && requests[0].join() === "First,Half of,Second");
    check("then the thread is free", (await one.send("Again")).text === "Again.");
  }
  {
    // One waits for the other page's turn.
    const store = memoryStore(stepwell);
    let go;
    const gate = new Promise((opened) => (go = opened));
    const one = agent([gate.then(() => answer(says("One.")))], { store }).talk.stream("First");
    await one.begun;
    const { talk: two, requests } = agent([answer(says("Two."))], { store });
    const second = two.stream("Second", { whenBusy: "queue" });
    go();
    check("a turn waits for another page's", (await one.result).text === "One." && (await second.result).text === "Two." && requests[0].join() === "First,One.,Second");
  }
  {
    const order = { name: "order", description: "Orders.", execute: () => Promise.reject(new Deferred()) };
    const store = memoryStore(stepwell);
    const one = agent([answer(calls("order"))], { store, tools: [order] }).talk;
    const turn = one.stream("Order it");
    const snapshot = await turn.rested();
    const two = agent([answer(says("It came."))], { store, tools: [order] }).talk;
    check("a turn that waits is under way", isBusy(await ended(two.stream("Second"))));
    check("nobody revives it elsewhere", isBusy(await ended(two.revive(snapshot))));
    // What is shown of it elsewhere says nothing of a call that has no result yet.
    const shown = await two.load();
    check(`it can be looked at: ${shown.map(({ role }) => role)}`, shown.map(({ role }) => role).join() === "user,assistant" && shown[1].toolCalls[0].function.name === "order");
    await turn.suspend();
    const revived = two.revive(snapshot);
    await revived.begun;
    revived.resolveCall("call", "delivered");
    check("until it is let go of", (await revived.result).text === "It came.");
    const later = agent([], { store }).talk;
    check("a later page has the whole of it", later.messages.length === 0 && (await later.load()).at(-1).content === "It came." && later.messages.length === 4);
  }
  {
    // Two pages that begin at the same time.
    const store = memoryStore(stepwell);
    const answers = () => Array.from({ length: 3 }, () => answer(says("Yes.")));
    const [one, two] = [agent(answers(), { store }).talk, agent(answers(), { store }).talk];
    const both = (options) => Promise.all([ended(one.stream("One", options)), ended(two.stream("Two", options))]);
    check("of two one is first", (await both()).filter(isBusy).length === 1 && (await store.turns(thread)).length === 1);
    const cancelling = await both({ whenBusy: "cancel" });
    check("with `cancel` one of them comes to its end", cancelling.some(({ text }) => text === "Yes.") && !cancelling.some(isBusy));
    const waiting = await both({ whenBusy: "queue" });
    check("with `queue` both do", waiting.every(({ text }) => text === "Yes."));
  }
  {
    const error = await agent([]).talk.send("Hello", { whenBusy: "wait" }).catch((error) => error);
    check(`there is no other way: ${error}`, error.code === "invalidArgument" && /whenBusy/.test(error.message));
  }
  return wrong;
}
