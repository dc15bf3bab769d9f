// The hook for React, in a document that is not a browser's. `node react.mjs PACKAGE`.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { register } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { transform } from "esbuild";
import { Window } from "happy-dom";
import { answer, calls, says } from "./agent.mjs";
import { agentOf, chunks, until } from "./chat.mjs";

// The package is not installed here, and its React is that of these tests.
const fileOf = (name) => pathToFileURL(resolve(process.argv[2], name)).href;
const files = { stepwell: fileOf("node.js"), "stepwell/react": fileOf("react.js") };
const hook = `const files = ${JSON.stringify(files)};
  const isReact = (name) => /^react(-dom)?(\\/|$)/.test(name);
  export const resolve = (name, context, next) => next(files[name] ?? name, isReact(name) ? { ...context, parentURL: ${JSON.stringify(import.meta.url)} } : context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
const window = new Window({ url: "http://localhost/" });
const { document, location, navigator } = window;
for (const [name, value] of Object.entries({ window, document, location, navigator, IS_REACT_ACT_ENVIRONMENT: true })) Object.defineProperty(globalThis, name, { value, configurable: true });
const { act, createElement: h, memo, StrictMode } = await import("react");
const { createRoot } = await import("react-dom/client");
const stepwell = await import("stepwell");
const { ChatSession, useStepwellChat } = await import("stepwell/react");
await stepwell.default();

const wrong = [];
const check = (what, holds) => holds || wrong.push(`React: ${what}`);

let renders = 0;
const Part = ({ part }) => (part.type === "tool" ? h("i", null, `${part.card.name} ${part.card.status}`) : h("span", null, part.text));
const Message = memo(({ message }) => {
  renders += 1;
  return h("p", null, message.parts.map((part, at) => h(Part, { key: at, part })));
});

/** A screen, and the chat of its last render. */
async function screen(source, options, wrap = (element) => element) {
  const shown = { chat: undefined };
  const Chat = () => {
    const chat = useStepwellChat(source, options);
    shown.chat = chat;
    return h(
      "main",
      null,
      h("b", null, chat.status),
      chat.messages.map((message) => h(Message, { key: message.id, message })),
      chat.pending.map(({ id, tool }) => h("button", { key: id, onClick: () => chat.approve(id) }, `Allow ${tool}`)),
      chat.problem && h("em", null, chat.problem.message),
    );
  };
  const place = document.createElement("div");
  document.body.append(place);
  const root = createRoot(place);
  shown.text = () => place.textContent;
  shown.click = () => act(async () => place.querySelector("button").click());
  shown.unmount = () => act(async () => root.unmount());
  await act(async () => root.render(wrap(h(Chat))));
  return shown;
}
/** The user's work on a screen, with what follows at once. */
const does = (work) => act(async () => void work());
/** Everything that happens by itself until the condition holds, as React shows it. */
const awaits = async (holds) => {
  for (let turns = 0; turns < 2_000 && !holds(); turns += 1) await act(() => new Promise((next) => setImmediate(next)));
  return holds();
};

{
  const body = chunks();
  const shown = await screen(agentOf(stepwell, [answer(body.readable)]));
  check("an empty chat is rendered", shown.text() === "ready");
  await does(() => shown.chat.send("Hello"));
  await act(() => body.send("Hi"));
  check("streamed text is rendered", await awaits(() => shown.text() === "streamingHelloHi"));
  const before = renders;
  await act(() => body.send(" there"));
  check("and grows", await awaits(() => shown.text() === "streamingHelloHi there"));
  check("only the message that changed is rendered again", renders === before + 1);
  const { send } = shown.chat;
  await act(() => body.end());
  check("the chat is ready again", await awaits(() => shown.text() === "readyHelloHi there"));
  check("the functions stay the same", shown.chat.send === send);
  await shown.unmount();
}
{
  const pay = { name: "pay", description: "Pays.", requiresApproval: true, execute: () => "paid" };
  const shown = await screen(agentOf(stepwell, [calls("pay"), says("Thanks.")], { tools: [pay] }));
  await does(() => shown.chat.send("Pay"));
  check("a tool card and its approval are rendered", await awaits(() => shown.text() === "waitingForUserPaypay awaitingApprovalAllow pay"));
  await shown.click();
  check("a click lets the tool run", await awaits(() => shown.text() === "readyPaypay completedThanks."));
  await shown.unmount();
}
{
  const shown = await screen(agentOf(stepwell, [answer("{}", { status: 401 })]));
  await does(() => shown.chat.send("Hello"));
  check("an error is rendered", await awaits(() => shown.text().startsWith("errorHello") && shown.text().length > 20));
  await shown.unmount();
}
{
  const definition = agentOf(stepwell, [says("One."), says("Two.")]);
  const [one, two] = [await screen(definition), await screen(definition)];
  await does(() => one.chat.send("First"));
  check("one chat has its answer", await awaits(() => one.text() === "readyFirstOne."));
  check("another one of the same agent has nothing of it", two.text() === "ready" && two.chat.session !== one.chat.session);
  await does(() => two.chat.send("Second"));
  check("and has its own", (await awaits(() => two.text() === "readySecondTwo.")) && one.text() === "readyFirstOne.");
  await one.unmount();
  await two.unmount();
}
{
  const body = chunks();
  const session = new ChatSession(agentOf(stepwell, [answer(body.readable)]).conversation());
  const shown = await screen(session);
  await does(() => shown.chat.send("Hello"));
  await act(() => body.send("Hi"));
  await awaits(() => shown.text() === "streamingHelloHi");
  await shown.unmount();
  await body.send(" there");
  await body.end();
  await until(() => session.getSnapshot().status === "ready");
  const again = await screen(session);
  check("a turn continues without its component", again.text() === "readyHelloHi there");
  await again.unmount();
}
{
  const session = new ChatSession(agentOf(stepwell, ["stalls"]).conversation());
  const strict = await screen(session, { cancelOnUnmount: true }, (element) => h(StrictMode, null, element));
  await does(() => strict.chat.send("Hello"));
  check("strict mode cancels nothing", await awaits(() => strict.text().startsWith("submittedHello")));
  await strict.unmount();
  await until(() => session.getSnapshot().status === "ready");
  check("unmounting cancels the turn if it should", session.getSnapshot().status === "ready" && session.getSnapshot().problem === undefined);
}

{
  // The program of the guide.
  const events = (...all) => answer(all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  const started = { type: "RUN_STARTED", threadId: "main", runId: "run" };
  const finished = { ...started, type: "RUN_FINISHED" };
  const call = { toolCallId: "call" };
  const bodies = [
    events(started, { type: "TOOL_CALL_START", ...call, toolCallName: "get_time" }, { type: "TOOL_CALL_ARGS", ...call, delta: "{}" }, { type: "TOOL_CALL_END", ...call }, finished),
    events(started, { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" }, { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "It is late." }, { type: "TEXT_MESSAGE_END", messageId: "m" }, finished),
    answer("no", { status: 403 }),
  ];
  const { fetch } = globalThis;
  globalThis.fetch = async () => bodies.shift();
  const place = document.createElement("div");
  place.id = "chat";
  document.body.append(place);
  const { code } = await transform(readFileSync(join(import.meta.dirname, "../../../examples/web/chat.tsx"), "utf8"), { loader: "tsx", jsx: "automatic", format: "esm", target: "es2022" });
  const program = join(mkdtempSync(join(tmpdir(), "stepwell-chat-")), "chat.mjs");
  writeFileSync(program, code);
  await act(() => import(pathToFileURL(program)));
  const says = async (text) => {
    const input = place.querySelector("input");
    await act(async () => {
      Object.getOwnPropertyDescriptor(window.HTMLInputElement.prototype, "value").set.call(input, text);
      input.dispatchEvent(new window.Event("input", { bubbles: true }));
    });
    await act(async () => place.querySelector("form").dispatchEvent(new window.Event("submit", { bubbles: true, cancelable: true })));
  };
  await says("What time is it?");
  check("the guide's program asks for approval", await awaits(() => place.textContent.includes("Allow get_time? Yes No")));
  await act(async () => place.querySelector("button").click());
  check("shows the answer", await awaits(() => place.textContent.startsWith("What time is it?get_time: completedIt is late.")));
  await says("And now?");
  check("and shows an error", await awaits(() => place.querySelector("[role=alert]")?.textContent.endsWith("Try again")));
  globalThis.fetch = fetch;
  rmSync(dirname(program), { recursive: true });
}

for (const what of wrong) console.error(what);
console.log(`the hook for React, ${wrong.length} wrong`);
process.exitCode = wrong.length === 0 ? 0 : 1;
