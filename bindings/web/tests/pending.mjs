// What a turn waits for, as data: listed and answered by the turn, by its conversation, and in another page.

import { answer, calls, clock, model, says } from "./agent.mjs";
import { until } from "./chat.mjs";
import { memoryStore } from "./memory_store.mjs";

/** What is wrong. */
export async function pendings(stepwell) {
  const { Agent, Deferred, StepwellError, ToolError } = stepwell;
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`pending: ${what}`);
  const agent = (answers, options) => {
    const requests = [];
    const fetch = async (_, { body }) => {
      requests.push(JSON.parse(body).messages.at(-1).content);
      return answer(answers.shift());
    };
    return { one: new Agent({ model, fetch, clock: clock(), ...options }), requests };
  };
  const failed = async (call) => {
    try {
      await call();
    } catch (error) {
      return error;
    }
    return undefined;
  };
  const parameters = { type: "object", properties: { sum: { type: "integer" } }, required: ["sum"] };
  const pay = { name: "pay", description: "Pays.", parameters, requiresApproval: true, execute: ({ sum }) => `paid ${sum}` };
  const choose = { name: "choose", description: "Asks.", execute: async (_, { ask }) => (await ask("Which one?")).value ?? "none" };
  const order = { name: "order", description: "Orders.", execute: () => Promise.reject(new Deferred()) };

  {
    const { one, requests } = agent([calls("pay", '{"sum":1}'), says("Done.")], { tools: [pay] });
    const turn = one.stream("Pay");
    const events = [];
    for await (const event of turn) {
      if (event.type !== "pending") continue;
      events.push(event.pending.map(({ id }) => id).join());
      if (event.pending.length === 0) continue;
      const [waits] = turn.pending;
      check("an approval has its call", waits.kind === "approval" && waits.tool === "pay" && waits.arguments.sum === 1 && waits.schema.required[0] === "sum");
      const unfit = await failed(() => turn.approve("call", { sum: "all" }));
      check(`unfit arguments change nothing: ${unfit}`, unfit?.kind === "misuse" && turn.pending.length === 1);
      check("an approval is no question", (await failed(() => turn.answer("call", "yes")))?.kind === "misuse");
      turn.approve("call", { sum: 2 });
      check("a call is approved once", (await failed(() => turn.approve("call")))?.kind === "misuse");
    }
    check(`the event says what waits: ${events}`, events.join("|") === "call|" && requests.at(-1).includes("paid 2"));
    check("nothing waits after the end", turn.pending.length === 0);
  }
  {
    // Without a loop, and by the conversation.
    const { one, requests } = agent([calls("pay", '{"sum":1}'), says("Well."), calls("choose"), says("This."), calls("order"), says("It came.")], { tools: [pay, choose, order] });
    const talk = one.conversation();
    const waits = async () => {
      for (let times = 0; times < 2_000 && (await talk.pending()).length === 0; times += 1) await new Promise(setImmediate);
      return (await talk.pending())[0];
    };
    check("nothing waits before a turn", (await talk.pending()).length === 0);
    const denied = talk.send("Pay");
    await talk.deny((await waits()).id, "too much");
    check("a call is denied", (await denied).text === "Well." && requests.at(-1).includes("too much"));
    const answered = talk.send("Choose");
    const question = await waits();
    check("a question has its text and schema", question.kind === "question" && question.message === "Which one?" && question.schema.type === "string");
    await talk.answer(question.id, "this");
    check("a question is answered", (await answered).text === "This." && requests.at(-1).includes("this"));
    const resolved = talk.send("Order");
    check("a deferred call waits", (await waits()).kind === "result");
    await talk.resolveCall("call", { status: "delivered" });
    check("and gets its result", (await resolved).text === "It came." && requests.at(-1).includes("delivered"));
    check("nothing waits for a late reply", (await failed(() => talk.approve("call")))?.kind === "misuse");
  }
  {
    // Whoever asks is stopped when the decision comes from elsewhere.
    let stopped = false;
    const approver = (_, { signal }) => new Promise((decide) => signal.addEventListener("abort", () => ((stopped = true), decide(false))));
    const { one, requests } = agent([calls("pay", '{"sum":1}'), says("Done.")], { tools: [pay], approver });
    const turn = one.stream("Pay");
    await until(() => turn.pending.length > 0);
    turn.approve("call");
    check("an approver is withdrawn", (await turn.result).text === "Done." && stopped && requests.at(-1) === "paid 1");
  }
  {
    // Nobody has the turn of `run`.
    const { one, requests } = agent([calls("pay", '{"sum":1}'), calls("choose"), says("Well.")], { tools: [pay, choose] });
    check("`run` denies", (await one.run("Pay")).text === "Well." && /no way to ask/.test(requests[1]));
  }
  {
    // Another page, by the store.
    const store = memoryStore(stepwell);
    const page = (answers) => agent(answers, { store, tools: [pay, choose] });
    const first = page([calls("pay", '{"sum":1}'), says("Done."), calls("pay", '{"sum":2}')]).one.conversation("garden");
    const turn = first.stream("Pay");
    await until(() => turn.pending.length > 0);
    const { one: other, requests } = page([says("Well done.")]);
    const second = other.conversation("garden");
    const listed = await second.pending();
    check(`another page lists it: ${JSON.stringify(listed)}`, JSON.stringify(listed) === JSON.stringify(turn.pending));
    check("a wrong id is told there, too", (await failed(() => second.deny("other")))?.kind === "misuse" && turn.pending.length === 1);
    await second.approve("call", { sum: 5 });
    check("the page that drives it takes the reply", (await turn.result).messages.some(({ content }) => content?.includes("paid 5")) && requests.length === 0);
    const left = first.stream("Again");
    await left.rested();
    await left.suspend();
    check("a page that is gone leaves it", (await second.pending())[0].arguments.sum === 2);
    check("nothing continues for a wrong id", (await failed(() => second.approve("other")))?.kind === "misuse" && (await store.thread({ server: "", room: "", thread: "garden" })).unfinished);
    await second.approve("call");
    check("a turn that no page drives continues here", await until(() => second.messages.at(-1)?.content === "Well done.") && requests.join() === "paid 2");
    check("and is over", (await second.pending()).length === 0);
  }
  {
    const broken = { name: "pay", description: "Pays.", execute: () => { throw new TypeError("no such table"); } };
    const told = agent([calls("pay"), says("Sorry.")], { tools: [broken] });
    check("the model is told that a tool is broken", (await told.one.run("Pay")).text === "Sorry." && /a mistake in its code/.test(told.requests[1]));
    check("and not what was thrown", !/no such table/.test(told.requests[1]));
    const shown = agent([calls("pay"), says("Sorry.")], { tools: [broken], onToolError: "showModel" });
    check("unless the app wants that", (await shown.one.run("Pay")).text === "Sorry." && /no such table/.test(shown.requests[1]));
    const { one, requests } = agent([calls("pay")], { tools: [broken], onToolError: "fail" });
    const error = await one.run("Pay").catch((error) => error);
    check(`or fails the turn: ${error}`, error instanceof StepwellError && error.kind === "toolFailed" && error.cause instanceof TypeError && error.result.stopReason === "failed" && requests.length === 1);
    const refuses = { ...broken, execute: () => { throw new ToolError("no money"); } };
    const refused = agent([calls("pay"), says("Sorry.")], { tools: [refuses], onToolError: "fail" });
    check("what a tool says itself goes to the model", (await refused.one.run("Pay")).text === "Sorry.");
    check("there is no other way", (await failed(() => new Agent({ model, onToolError: "hide" })))?.code === "invalidArgument");
  }
  {
    // A message for the turn under way.
    let go;
    const gate = new Promise((opened) => (go = opened));
    const wait = { name: "wait", description: "Waits.", execute: () => gate };
    const { one, requests } = agent([calls("wait"), says("Both."), says("Alone.")], { tools: [wait], whenBusy: "steer" });
    const talk = one.conversation();
    const turn = talk.stream("First");
    await until(() => requests.length === 1);
    await new Promise(setImmediate);
    const steered = talk.send("And this");
    go("waited");
    const [own, same] = await Promise.all([turn.result, steered]);
    check("a message may join the turn under way", own.text === "Both." && same.text === "Both." && requests.length === 2 && requests.at(-1) === "And this");
    check("a message of its own is a turn", (await talk.send("Third")).text === "Alone.");
  }
  return wrong;
}
