// A tool call: what it is called, how it stands, what it was given and what came of it.
import { useState } from "preact/hooks";
import { Icon, type IconName } from "./icons";
import { Approval } from "./questions";
import { stopCall } from "./session";
import { ToolQuestion } from "./tool_question";
import { visible, Visible } from "./visible";
import { isFinal, isOfRunningTool, pictureOf, textOf, type Call, type CallStatus, type Content, type Question } from "./view";

const STATUS: Record<CallStatus, { words: string; icon?: IconName; look: string }> = {
  streaming: { words: "Being written", look: "busy" },
  pending: { words: "Waiting", look: "busy" },
  awaiting_approval: { words: "Needs your approval", icon: "question", look: "asks" },
  executing: { words: "Running", look: "busy" },
  deferred: { words: "Waiting for its app", look: "busy" },
  completed: { words: "Done", icon: "tick", look: "good" },
  failed: { words: "Failed", icon: "cross", look: "bad" },
  denied: { words: "Denied", icon: "barred", look: "bad" },
  cancelled: { words: "Stopped", icon: "barred", look: "idle" },
};

const ASKS = { words: "Asks you", icon: "question" as const, look: "asks" };

export function ToolCard({ call, turn, questions }: { call: Call; turn: string; questions: Question[] }) {
  const asked = questions.filter(isOfRunningTool);
  const status = asked.length > 0 ? ASKS : STATUS[call.status];
  const approval = call.status === "awaiting_approval" ? questions.find((question) => !isOfRunningTool(question)) : undefined;
  const isBeingWritten = call.status === "streaming";
  // Until the user has chosen, it is open while there is something to follow.
  const [chosen, setChosen] = useState<boolean | null>(null);
  const isOpen = chosen ?? (isBeingWritten || questions.length > 0);
  const reason = call.status === "failed" || call.status === "denied" ? firstLine(call.result) : "";
  return (
    <section class={`tool ${status.look}`} aria-label={`Tool: ${visible(call.label)}`} data-status={call.status}>
      <button type="button" class="tool-head" aria-expanded={isOpen} onClick={() => setChosen(!isOpen)}>
        <span class="tool-mark">{status.icon ? <Icon name={status.icon} /> : <span class="spinner" aria-hidden="true" />}</span>
        <span class="tool-label">
          <bdi>
            <Visible text={call.label} />
          </bdi>
        </span>
        <span class="tool-name">
          <bdi dir="ltr">
            <Visible text={call.label === call.name ? gist(call.args) : call.name} />
          </bdi>
        </span>
        <span class="tool-status">{status.words}</span>
        <span class="tool-chevron">
          <Icon name="chevron" />
        </span>
      </button>
      {call.status === "executing" && call.progress && <Progress {...call.progress} />}
      {reason && !isOpen && (
        <p class="tool-reason" dir="auto">
          <Visible text={reason} />
        </p>
      )}
      {isOpen && (
        <div class="tool-body">
          <Shown title="Arguments" text={isBeingWritten ? call.args : pretty(call.args)} isBusy={isBeingWritten} />
          {call.result !== undefined && <Result content={call.result} isBad={status.look === "bad"} />}
          {call.result === undefined && isFinal(call.status) && <p class="nothing">Nothing came of it.</p>}
          {(call.status === "executing" || call.status === "deferred") && <StopCall call={call} turn={turn} />}
        </div>
      )}
      {approval && <Approval question={approval} call={call} turn={turn} />}
      {asked.map((question) => (
        <ToolQuestion key={question.id} question={question} turn={turn} />
      ))}
    </section>
  );
}

function Progress({ fraction, message }: NonNullable<Call["progress"]>) {
  return (
    <p class="tool-progress">
      <progress max={1} value={fraction ?? undefined} aria-label={message ? visible(message) : "Running"} />
      {message && (
        <span dir="auto">
          <Visible text={message} />
        </span>
      )}
    </p>
  );
}

function StopCall({ call, turn }: { call: Call; turn: string }) {
  const [isBusy, setBusy] = useState(false);
  const stop = async (): Promise<void> => {
    setBusy(true);
    await stopCall(turn, call.id);
    setBusy(false);
  };
  return (
    <p>
      <button type="button" class="button" disabled={isBusy} onClick={() => void stop()}>
        Stop this tool
      </button>
    </p>
  );
}

function Shown({ title, text, isBusy = false, isBad = false }: { title: string; text: string; isBusy?: boolean; isBad?: boolean }) {
  return (
    <>
      <h3>{title}</h3>
      <pre class={`data ${isBad ? "bad" : ""} ${isBusy ? "writing" : ""}`} tabIndex={0} role="region" aria-label={title} dir={isJson(text) ? "ltr" : "auto"}>
        <Visible text={text || (isBusy ? "" : "none")} />
      </pre>
    </>
  );
}

/** Whether a text begins as JSON does: that is read from left to right, whatever is in it. */
function isJson(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

function Result({ content, isBad }: { content: Content; isBad: boolean }) {
  const text = textOf(content);
  const parts = typeof content === "string" ? [] : content;
  const pictures = parts.filter((part) => pictureOf(part) !== null);
  const others = parts.filter((part) => part.text === undefined && !pictures.includes(part));
  return (
    <>
      {(text !== "" || parts.length === 0) && <Shown title={isBad ? "What went wrong" : "Result"} text={pretty(text)} isBad={isBad} />}
      {pictures.map((part, index) => (
        <img key={index} class="picture" alt="A picture that the tool gave" src={pictureOf(part)!} />
      ))}
      {others.map((part, index) => (
        <p key={index} class="nothing">
          {`The tool gave something that is not shown here: ${part.type}${part.source?.mimeType ? `, ${part.source.mimeType}` : ""}.`}
        </p>
      ))}
    </>
  );
}

/** The arguments in a few words, for a tool that has no label for them. */
function gist(args: string): string {
  let value: unknown;
  try {
    value = JSON.parse(args);
  } catch {
    return "";
  }
  if (typeof value !== "object" || value === null) return "";
  const words = Object.values(value).map((part) => (typeof part === "string" ? part : JSON.stringify(part)));
  return words.join(", ").replace(/\s+/g, " ").slice(0, 120);
}

function firstLine(result: Content | undefined): string {
  const line = result === undefined ? "" : (textOf(result).trim().split("\n")[0] ?? "");
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}

/** JSON with line breaks; anything else as it is. */
function pretty(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return text;
    if (Object.keys(value).length === 0) return "none";
    return JSON.stringify(value, null, 2);
  } catch {
    return text;
  }
}
