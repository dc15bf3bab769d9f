// A thread whose turn is under way: what a second turn comes to, in the same page and, over a store, in another one.

import { answer, calls, clock, config, says } from "./agent.mjs";
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

/** Reads a turn's events until some of its text is there; the rest is left to `turn.finish`. */
async function untilText(turn) {
  const events = turn[Symbol.asyncIterator]();
  for (let next = await events.next(); !next.done; next = await events.next()) {
    if (next.value.type === "TEXT_MESSAGE_CONTENT") return events;
  }
  throw new Error("the turn said nothing");
}

/** Returns the rest of the events. */
async function rest(events) {
  const all = [];
  for (let next = await events.next(); !next.done; next = await events.next()) all.push(next.value);
  return all;
}

/** What is wrong. */
export async function busy(stepwell) {
  const { Agent, Deferred, RunRegistry, TurnError } = stepwell;
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`a busy thread: ${what}`);
  const agent = (answers, options = {}) => {
    const requests = [];
    const fetch = async (_, { body, signal }) => {
      requests.push(JSON.parse(body).messages.map(({ content }) => content));
      const next = answers.shift();
      return typeof next === "string" ? stalling(next, signal) : next;
    };
    return { agent: new Agent({ ...config, fetch, clock: clock(), threadId: "thread-1", ...options }), requests };
  };
  const isBusy = ({ outcome }) => outcome.outcome === "failed" && outcome.problem.kind === "busy";
  const thread = { server: "", room: "", thread: "thread-1" };

  for (const instructionsFrom of [undefined, () => "Be brief."]) {
    const { agent: one, requests } = agent(["Half", answer(says("Third."))], { instructionsFrom });
    const first = one.send("First");
    const events = await untilText(first);
    const second = one.send("Second");
    check("the second turn fails at once", isBusy(await second.finish()));
    check("it sent nothing", requests.length === 1 && second.outcome.problem.advice !== "");
    const thrown = await one.sendAndWait("Second").catch((error) => error);
    check(`an error says so: ${thrown}`, thrown instanceof TurnError && thrown.problem.kind === "busy" && thrown.message.length < 300);
    check("the first goes on", first.outcome === undefined && one.registry.running().length === 1);
    const third = await one.send("Third", { whenBusy: "cancel" }).finish();
    check("with `cancel` the first is cancelled", first.outcome.outcome === "cancelled" && third.text === "Third.");
    check("what it said goes along", requests.at(-1).join().endsWith("First,Half,Third"));
    await rest(events);
  }
  {
    const { agent: one } = agent(["Half", answer(says("Second."))], { whenBusy: "cancel" });
    const events = await untilText(one.send("First"));
    check("an agent may always cancel", (await one.sendAndWait("Second")).text === "Second.");
    await rest(events);
  }
  {
    const registry = new RunRegistry();
    const one = agent(["Half"], { registry }).agent;
    const turn = one.send("First");
    const events = await untilText(turn);
    const other = agent([answer(says("Second."))], { registry }).agent;
    check("an agent of the same registry is refused too", isBusy(await other.send("Second").finish()));
    await other.sendAndWait("Second", { whenBusy: "cancel" });
    check("and cancels it at once", turn.outcome?.outcome === "cancelled");
    await rest(events);
  }
  {
    // Two pages on one store.
    const store = memoryStore(stepwell);
    const one = agent(["Half of", answer(says("Again."))], { store }).agent;
    const first = one.send("First");
    const events = await untilText(first);
    const { agent: two, requests } = agent([answer(says("Second."))], { store });
    check("another page is refused", isBusy(await two.send("Second").finish()) && requests.length === 0);
    check("and stores nothing", (await store.turns(thread)).length === 1);
    const resent = await two.resend((await store.turns(thread))[0].id, "Another").catch((error) => error);
    check("so is another branch", isBusy(await resent.finish()));
    const second = await two.send("Second", { whenBusy: "cancel" }).finish();
    const told = await rest(events);
    check("the first page is told", first.outcome.outcome === "cancelled" && told.some(({ type, message }) => type === "warning" && /another page/.test(message)));
    const [stored, next] = await store.turns(thread);
    const texts = stored.blocks.map(({ block }) => block.content.text);
    check(`what it had is stored: ${stored.status} ${texts}`, stored.status === "cancelled" && texts.join() === "Half of");
    check(`the second goes on from it: ${requests}`, second.text === "Second." && next.parent === stored.id && requests[0].join() === "First,Half of,Second");
    check("then the thread is free", (await one.sendAndWait("Again")).text === "Again.");
  }
  {
    const order = { name: "order", description: "Orders.", execute: () => Promise.reject(new Deferred()) };
    const store = memoryStore(stepwell);
    const one = agent([answer(calls("order"))], { store, tools: [order] }).agent;
    const turn = one.send("Order it");
    const snapshot = await turn.rested();
    const two = agent([answer(says("It came."))], { store, tools: [order] }).agent;
    check("a turn that waits is under way", isBusy(await two.send("Second").finish()));
    check("nobody revives it elsewhere", isBusy(await two.revive(snapshot).finish()));
    // What is shown of it elsewhere says nothing of a call that has no result yet.
    const shown = await two.load();
    check(`it can be looked at: ${shown.map(({ role }) => role)}`, shown.map(({ role }) => role).join() === "user,assistant" && shown[1].toolCalls[0].function.name === "order");
    await turn.suspend();
    const revived = two.revive(snapshot);
    await revived.begun;
    revived.finishCall("call", "delivered");
    check("until it is let go of", (await revived.finish()).text === "It came.");
    const later = agent([], { store }).agent;
    check("a later page has the whole of it", later.messages.length === 0 && (await later.load()).at(-1).content === "It came." && later.messages.length === 4);
  }
  {
    // Two pages that begin at the same time.
    const store = memoryStore(stepwell);
    const answers = () => [answer(says("Yes.")), answer(says("Yes."))];
    const [one, two] = [agent(answers(), { store }).agent, agent(answers(), { store }).agent];
    const ended = await Promise.all([one.send("One").finish(), two.send("Two").finish()]);
    check(`of two one is first: ${ended.map(({ outcome }) => outcome.outcome)}`, ended.filter(isBusy).length === 1 && (await store.turns(thread)).length === 1);
    const both = await Promise.all([one.send("One", { whenBusy: "cancel" }).finish(), two.send("Two", { whenBusy: "cancel" }).finish()]);
    check("with `cancel` one of them comes to its end", both.some(({ text }) => text === "Yes.") && !both.some(isBusy));
  }
  {
    const { agent: one } = agent([]);
    let thrown;
    try {
      one.send("Hello", { whenBusy: "wait" });
    } catch (error) {
      thrown = error;
    }
    check(`there is no other way: ${thrown}`, thrown?.kind === "invalidArgument" && /whenBusy/.test(thrown.message));
  }
  return wrong;
}
