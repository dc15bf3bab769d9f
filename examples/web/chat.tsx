// A chat app with React: answers as they stream, tool cards, approvals and errors, with an AG-UI agent at `/agent`.
import { type FormEvent, memo, useState } from "react";
import { createRoot } from "react-dom/client";
import init, { Agent, agUi } from "stepwell";
import { type ChatMessage, type ChatPart, type Interrupt, type Pending, useStepwellChat } from "stepwell/react";

await init();
const getTime = {
  name: "get_time",
  description: "The time on this device.",
  requiresApproval: true,
  execute: () => new Date().toString(),
};
const agent = new Agent({ model: agUi("/agent"), tools: [getTime] });

function Chat() {
  const chat = useStepwellChat(agent, { id: "main" });
  const [text, setText] = useState("");
  const isBusy = chat.status !== "ready" && chat.status !== "error";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isBusy) chat.steer(text);
    else chat.send(text);
    setText("");
  };
  return (
    <main>
      {chat.messages.map((message) => <Message key={message.id} message={message} />)}
      {[...chat.pending, ...chat.interrupts].map((waits) => <Waiting key={waits.id} waits={waits} chat={chat} />)}
      {chat.connection.state === "waitingToRetry" && <p>Trying again: {chat.connection.reason}</p>}
      {chat.problem && <p role="alert">{chat.problem.message} <button onClick={() => chat.retry()}>Try again</button></p>}
      <form onSubmit={submit}>
        <input value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={!text}>Send</button>
        {isBusy && <button type="button" onClick={chat.cancel}>Stop</button>}
      </form>
    </main>
  );
}

const Message = memo(({ message }: { message: ChatMessage }) => (
  <article className={message.role}>{message.parts.map((part, at) => <Part key={at} part={part} />)}</article>
));

function Part({ part }: { part: ChatPart }) {
  if (part.type === "text") return <p>{part.text}</p>;
  if (part.type === "reasoning") return <details>{part.text}</details>;
  if (part.type === "tool") return <p>{part.card.label}: {part.card.progress?.message ?? part.card.failure ?? part.card.status}</p>;
  return null;
}

function Waiting({ waits, chat }: { waits: Pending | Interrupt; chat: ReturnType<typeof useStepwellChat> }) {
  const { id, message = "" } = waits;
  if ("kind" in waits && waits.kind === "result") return null;
  if ("kind" in waits && waits.kind === "approval") {
    return <p>Allow {waits.label ?? waits.tool}? <button onClick={() => chat.approve(id)}>Yes</button> <button onClick={() => chat.deny(id)}>No</button></p>;
  }
  return <p>{message} <button onClick={() => chat.answer(id, window.prompt(message) ?? "")}>Answer</button></p>;
}

createRoot(document.getElementById("chat")!).render(<Chat />);
