// The chat session: what a screen shows of a conversation, and what the user does there.

import { answer, calls, clock, model, says } from "./agent.mjs";
import { memoryStore } from "./memory_store.mjs";

/** Lets everything happen that is not the user's, until the condition holds. */
export async function until(holds) {
  for (let turns = 0; turns < 2_000 && !holds(); turns += 1) await new Promise((next) => setImmediate(next));
  return holds();
}

/** A stream in chunks that the test sends. */
export function chunks() {
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  const send = (content) => writer.write(encoder.encode(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`));
  const end = async () => {
    await writer.write(encoder.encode('data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'));
    await writer.close();
  };
  return { readable, send, end };
}

/** An agent that answers with these bodies. */
export function agentOf({ Agent }, answers, options) {
  const fetch = async (_, { signal }) => {
    const next = answers.shift();
    if (next === "stalls") return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    if (next instanceof Error) throw next;
    return next instanceof Response ? next : answer(next);
  };
  return new Agent({ model, fetch, clock: clock(), ...options });
}

const texts = ({ messages }) => messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])));
const cards = ({ messages }) => messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "tool" ? [part.card] : [])));

/** What is wrong. */
export async function chats(stepwell) {
  const { ChatSession, StoreError } = stepwell;
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`ChatSession: ${what}`);
  const thrown = (call) => {
    try {
      call();
    } catch (error) {
      return error;
    }
    return undefined;
  };
  const chat = (answers, options) => new ChatSession(agentOf(stepwell, answers, options).conversation());

  {
    const body = chunks();
    const session = chat([answer(body.readable)]);
    const seen = [];
    const stop = session.subscribe(() => seen.push(session.getSnapshot()));
    check("an empty chat is ready", session.getSnapshot().status === "ready" && session.getSnapshot().messages.length === 0);
    const sent = session.send("Hello");
    await until(() => session.getSnapshot().status === "submitted");
    check("a message is shown at once", texts(session.getSnapshot()).join() === "Hello");
    await body.send("Hi");
    await until(() => texts(session.getSnapshot()).length === 2);
    const before = session.getSnapshot();
    check("text streams", before.status === "streaming" && before.messages[1].streaming && before.connection.state === "streaming");
    check("a second message is an error", (await session.send("And?").catch((error) => error)).kind === "busy");
    await body.send(" there");
    await until(() => texts(session.getSnapshot())[1] === "Hi there");
    const after = session.getSnapshot();
    check("a message that has not changed is the same object", after.messages[0] === before.messages[0] && after.messages[1] !== before.messages[1]);
    await body.end();
    const result = await sent;
    await until(() => session.getSnapshot().status === "ready");
    check("the turn has its result", result.output === "Hi there");
    check("the answer is complete", !session.getSnapshot().messages[1].streaming && session.getSnapshot() === session.getSnapshot());
    check("revisions grow", seen.every(({ revision }, at) => at === 0 || revision > seen[at - 1].revision));
    stop();
  }
  {
    const asked = [];
    const pay = { name: "pay", description: "Pays.", parameters: { type: "object", properties: { sum: { type: "number" } } }, requiresApproval: true, execute: ({ sum }) => (asked.push(sum), `paid ${sum}`) };
    const session = chat([calls("pay", '{"sum":1}'), says("Done."), calls("pay", '{"sum":2}'), says("Well."), calls("pay", '{"sum":3}')], { tools: [pay] });
    const first = session.send("Pay");
    await until(() => session.getSnapshot().status === "waitingForUser");
    const [pending] = session.getSnapshot().pending;
    check("an approval waits", pending.id === "call" && pending.toolCallId === "call" && pending.tool === "pay" && pending.arguments.sum === 1);
    check("with its schema", pending.kind === "approval" && pending.schema.properties.sum.type === "number");
    check("its card waits, too", cards(session.getSnapshot())[0].status === "awaitingApproval");
    await session.approve(pending.id, { sum: 7 });
    await first;
    await until(() => session.getSnapshot().status === "ready");
    check("other arguments may be approved", asked.join() === "7" && cards(session.getSnapshot())[0].result === "paid 7");
    const second = session.send("Again");
    await until(() => session.getSnapshot().pending.length === 1);
    await session.deny("call", "not now");
    await second;
    await until(() => session.getSnapshot().status === "ready");
    const denied = cards(session.getSnapshot())[1];
    check("a call may be denied by its id", denied.status === "denied" && denied.failure.includes("not now") && asked.length === 1);
    const third = session.send("Once more");
    await until(() => session.getSnapshot().pending.length === 1);
    session.cancel();
    check("a cancelled turn has no result", (await third) === undefined);
    await until(() => session.getSnapshot().status === "ready");
    check("and no problem, and nothing waits", session.getSnapshot().problem === undefined && session.getSnapshot().pending.length === 0);
    check("an answer that nothing waits for is an error", (await session.approve("call").catch((error) => error))?.kind === "misuse");
    check("steering without a turn, too", thrown(() => session.steer("Stop"))?.kind === "misuse");
  }
  {
    const answers = [];
    const choose = {
      name: "choose",
      description: "Asks.",
      execute: async (_, { ask, report }) => {
        report(0.5, "half way");
        answers.push(await ask("Which one?"), await ask({ message: "Sure?", schema: { type: "boolean" } }));
        return "chosen";
      },
    };
    const session = chat([calls("choose"), says("Done.")], { tools: [choose] });
    const sent = session.send("Choose");
    await until(() => session.getSnapshot().pending.length === 1);
    const [first] = session.getSnapshot().pending;
    check("a question waits", first.kind === "question" && first.message === "Which one?" && first.id === "call/0");
    check("the card shows its progress", cards(session.getSnapshot())[0].progress.fraction === 0.5);
    const unfit = await session.answer(first.id, 7).catch((error) => error);
    check(`an answer fits its schema: ${unfit}`, unfit.kind === "misuse" && session.getSnapshot().pending.length === 1);
    await session.answer(first.id, "this");
    await until(() => session.getSnapshot().pending[0]?.id === "call/1");
    await session.deny("call/1");
    await sent;
    check("it is answered or declined", answers[0].value === "this" && answers[1].value === undefined);
  }
  {
    const session = chat([answer("{}", { status: 401 }), says("Hello again.")], { retry: { attempts: 0 } });
    check("a turn that fails has no result", (await session.send("Hello")) === undefined);
    await until(() => session.getSnapshot().status === "error");
    const { problem } = session.getSnapshot();
    check("but a problem", problem.kind === "authentication" && problem.status === 401 && problem.advice.length > 0);
    const { output } = await session.retry();
    await until(() => session.getSnapshot().status === "ready");
    check("a retry sends the message again, once", output === "Hello again." && texts(session.getSnapshot()).join() === "Hello,Hello again.");
    check("and clears the problem", session.getSnapshot().problem === undefined);
  }
  {
    const body = chunks();
    const session = chat([answer(body.readable), says("Shorter.")]);
    const sent = session.send("Tell me all");
    await body.send("Once upon a time");
    await until(() => texts(session.getSnapshot()).length === 2);
    session.steer("Shorter, please");
    check("a message during the turn waits", texts(session.getSnapshot()).length === 2);
    await body.end();
    await sent;
    await until(() => session.getSnapshot().status === "ready");
    check("it is shown where the turn took it", session.getSnapshot().messages.map(({ role }) => role).join() === "user,assistant,user,assistant");
  }
  {
    const store = memoryStore({ StoreError });
    const pay = { name: "pay", description: "Pays.", execute: () => { throw new Error("no money"); } };
    const definition = agentOf(stepwell, [calls("pay"), says("Sorry.")], { store, tools: [pay] });
    const live = new ChatSession(definition.conversation("garden"));
    await live.send("Pay");
    await until(() => live.getSnapshot().status === "ready");
    const later = new ChatSession(agentOf(stepwell, [says("Hello.")], { store }).conversation("garden"));
    check("a stored chat is empty until it is loaded", later.getSnapshot().messages.length === 0);
    await later.load();
    const plain = ({ messages, status, usage }) => JSON.stringify([messages.map(({ revision: _, ...message }) => message), status, usage]);
    check("a reload shows what was shown live", plain(later.getSnapshot()) === plain(live.getSnapshot()));
    await later.send("And?");
    check("a loaded chat continues", later.conversation.messages.length === 6);
  }
  {
    // The page is reloaded while a call waits.
    const store = memoryStore({ StoreError });
    const asked = [];
    const pay = { name: "pay", description: "Pays.", requiresApproval: true, execute: (_, { deps }) => (asked.push(deps), "paid") };
    const earlier = agentOf(stepwell, [calls("pay")], { store, tools: [pay] }).conversation("garden").stream("Pay");
    await earlier.rested();
    await earlier.suspend();
    const session = new ChatSession(agentOf(stepwell, [says("Done.")], { store, tools: [pay], approver: () => check("the agent's approver is not asked", false) }).conversation("garden"), { deps: "db" });
    await session.load();
    const [pending] = session.getSnapshot().pending;
    check("what waits is there after a reload", pending?.id === "call" && pending.kind === "approval");
    const error = await session.approve("other").catch((error) => error);
    check("another id is an error", error?.kind === "misuse" && asked.length === 0);
    await session.approve(pending.id);
    await until(() => session.getSnapshot().status === "ready");
    check(`the turn continues here: ${texts(session.getSnapshot())}`, texts(session.getSnapshot()).join() === "Pay,Done." && asked.join() === "db");
    check("and nothing waits any more", session.getSnapshot().pending.length === 0);
  }
  return wrong;
}
