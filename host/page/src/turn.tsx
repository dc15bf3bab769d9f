// One turn: what the user said, and all that came of it.
import { Fragment } from "preact";
import { memo } from "preact/compat";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { CompactionNode } from "./compaction";
import { copy } from "./copy";
import { toComposer } from "./focus";
import { Icon } from "./icons";
import { inspect } from "./inspect";
import { Markdown } from "./markdown";
import { place } from "./place";
import { OpenQuestion } from "./questions";
import { branches, goOn, retry, sayAnew, showBranch, siblings } from "./session";
import { ToolCard } from "./tool_card";
import type { Branch } from "./api";
import { fileOf, isLimit, pictureOf, placeAmong, saidIn, soundOf, textOf, withText, type Content, type ContentPart, type Message, type TextFile, type Turn } from "./view";
import { visible, Visible } from "./visible";

export const TurnView = memo(({ turn, isLast }: { turn: Turn; isLast: boolean }) => {
  const isRunning = turn.status === "streaming";
  const said = turn.messages.filter((message) => message.role === "user");
  const answers = turn.messages.filter((message) => message.role !== "user");
  const isIdle = isRunning && turn.waiting === undefined && isWaiting(answers);
  const compacted = (place: number) =>
    turn.compactions.map((compaction, index) => !compaction.undone && placeAmong(answers, compaction) === place && <CompactionNode key={`c${index}`} compaction={compaction} />);
  return (
    <article class="turn" aria-busy={isRunning} data-turn={turn.id}>
      {said.map((message) => (
        <Said key={message.id} turn={turn} message={message} isLast={isLast} />
      ))}
      <div class="answer">
        <h2 class="unseen">Answer</h2>
        {answers.map((message, place) => (
          <Fragment key={message.id}>
            {compacted(place)}
            <Answered turn={turn} message={message} isRunning={isRunning} />
          </Fragment>
        ))}
        {compacted(answers.length)}
        {turn.questions
          .filter((question) => question.toolCallId === undefined)
          .map((question) => (
            <OpenQuestion key={question.id} question={question} turn={turn.id} />
          ))}
        {isIdle && <Thinking words={answers.length === 0 ? "Thinking" : "Going on"} />}
        {turn.waiting !== undefined && <p class="thinking">{turn.waiting}</p>}
        <End turn={turn} isLast={isLast} />
        <Actions turn={turn} answers={answers} />
      </div>
    </article>
  );
});

/** After so long without a word it is said how long it has been. */
const LONG_SECONDS = 10;

/** The model is to speak next. */
function Thinking({ words }: { words: string }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const began = Date.now();
    const timer = setInterval(() => setSeconds(Math.floor((Date.now() - began) / 1000)), 1_000);
    return () => clearInterval(timer);
  }, []);
  return <p class="thinking">{seconds < LONG_SECONDS ? words : `${words}. Nothing has come from the model for ${seconds} s`}</p>;
}

/** Whether nothing on the page moves, and the model is to speak next. */
function isWaiting(answers: Message[]): boolean {
  const last = answers.at(-1);
  if (!last) return true;
  if (last.isOpen) return last.content === "" && last.calls.length === 0;
  const busy = ["streaming", "pending", "executing", "awaiting_approval", "deferred"];
  return !last.calls.some((call) => busy.includes(call.status));
}

/** So long may a message be before it is folded. */
const LONG = { characters: 1_500, lines: 15 };

/** A text file that goes with a message. Its text is there for who opens it. */
function FileChip({ name, text }: TextFile) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="file" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="attach" />
        <bdi>
          <Visible text={name} />
        </bdi>
        <span class="size">{sizeIn(text)}</span>
        <span class="tool-chevron">
          <Icon name="chevron" />
        </span>
      </summary>
      {isOpen && (
        <pre class="data" tabIndex={0} role="region" aria-label={`The text of ${visible(name)}`} dir="auto">
          <Visible text={text} />
        </pre>
      )}
    </details>
  );
}

function sizeIn(text: string): string {
  const bytes = new Blob([text]).size;
  return bytes < 1024 ? `${bytes} B` : `${Math.round(bytes / 1024)} kB`;
}

/** What the user said. Long pastes are folded. */
function Bubble({ content }: { content: Content }) {
  const text = saidIn(content);
  const files = typeof content === "string" ? [] : content.flatMap((part) => fileOf(part) ?? []);
  const parts = typeof content === "string" ? [] : content.filter((part) => part.text === undefined);
  const [isOpen, setOpen] = useState(false);
  const isLong = text.length > LONG.characters || text.split("\n").length > LONG.lines;
  return (
    <div class="bubble" dir="auto">
      {text !== "" && <div class={isLong && !isOpen ? "folded" : ""}>{text}</div>}
      {parts.map((part, index) => {
        const picture = pictureOf(part);
        if (picture !== null) return <img key={index} class="picture" alt="A picture that you sent" src={picture} />;
        return <p key={index} class="nothing">{`A file: ${part.source?.mimeType ?? part.type}`}</p>;
      })}
      {files.map((file, index) => (
        <FileChip key={index} {...file} />
      ))}
      {isLong && (
        <button type="button" class="button small unfold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Show less" : "Show all of it"}
        </button>
      )}
    </div>
  );
}

/** What follows another version is not lost: it is said where it is. */
function Elsewhere({ turn, beside }: { turn: Turn; beside: Branch[] }) {
  const other = beside.findLast((branch) => branch.id !== turn.id && branches.value.some(({ parent }) => parent === branch.id));
  if (!other || branches.value.some(({ parent }) => parent === turn.id)) return null;
  return (
    <div class="branches elsewhere">
      <span>{`What was said after version ${beside.indexOf(other) + 1} is still there.`}</span>
      <button type="button" class="button small" onClick={() => showBranch(other)}>
        Show it
      </button>
    </div>
  );
}

function Said({ turn, message, isLast }: { turn: Turn; message: Message; isLast: boolean }) {
  const [isEditing, setEditing] = useState(false);
  const edit = useRef<HTMLButtonElement>(null);
  const text = saidIn(message.content);
  const beside = siblings(turn);
  // Whoever stands in the tree is known only once it was read.
  const place = branches.value.length === 0 ? -1 : beside.findIndex((branch) => branch.id === turn.id);
  const close = (): void => {
    setEditing(false);
    requestAnimationFrame(() => edit.current?.focus());
  };
  return (
    <div class="said">
      <h2 class="unseen">You</h2>
      {isEditing ? (
        <Edit
          text={text}
          onCancel={close}
          onSend={(changed) => {
            setEditing(false);
            void sayAnew(turn, withText(message.content, changed));
            toComposer();
          }}
        />
      ) : (
        <>
          <div class="said-line">
            <button ref={edit} type="button" class="quiet edit" aria-label="Edit and send again" title="Edit and send again" onClick={() => setEditing(true)}>
              <Icon name="pencil" />
            </button>
            <Bubble content={message.content} />
          </div>
          {place >= 0 && beside.length > 1 && (
            <div class="branches" role="group" aria-label="Versions of this message">
              <button type="button" class="quiet" aria-label="Version before" disabled={place === 0} onClick={() => showBranch(beside[place - 1]!)}>
                <Icon name="left" />
              </button>
              <span>
                <span class="unseen">Version </span>
                {place + 1}
                <span aria-hidden="true"> / </span>
                <span class="unseen"> of </span>
                {beside.length}
              </span>
              <button
                type="button"
                class="quiet"
                aria-label="Version after"
                disabled={place === beside.length - 1}
                onClick={() => showBranch(beside[place + 1]!)}
              >
                <Icon name="right" />
              </button>
            </div>
          )}
          {isLast && <Elsewhere turn={turn} beside={beside} />}
        </>
      )}
    </div>
  );
}

function Edit({ text, onSend, onCancel }: { text: string; onSend: (text: string) => void; onCancel: () => void }) {
  const [changed, setChanged] = useState(text);
  const field = useRef<HTMLTextAreaElement>(null);
  // Before the next key, which may come sooner than the page is painted.
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(text.length, text.length);
  }, []);
  const send = (): void => {
    if (changed.trim() !== "") onSend(changed.trim());
  };
  return (
    <form
      class="editing"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        ref={field}
        aria-label="Your message"
        dir="auto"
        rows={Math.min(12, changed.split("\n").length + 1)}
        value={changed}
        onInput={(event) => setChanged(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.isComposing) return;
          if (event.key === "Escape") {
            event.stopPropagation();
            onCancel();
          } else if (event.key === "Enter" && !event.shiftKey) {
            event.preventDefault();
            send();
          }
        }}
      />
      <div class="answers">
        <span class="hint">What was said before stays, as another version.</span>
        <button type="button" class="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" class="button primary" disabled={changed.trim() === ""}>
          Send
        </button>
      </div>
    </form>
  );
}

/** Media that the model made. */
function Made({ parts }: { parts: ContentPart[] }) {
  return (
    <>
      {parts.map((part, index) => {
        const picture = pictureOf(part);
        if (picture !== null) return <img key={index} class="picture" alt="A picture that the model made" src={picture} />;
        const sound = soundOf(part);
        if (sound !== null) return <audio key={index} controls src={sound} />;
        return <p key={index} class="nothing">{`The model made something that is not shown here: ${part.source?.mimeType ?? part.type}.`}</p>;
      })}
    </>
  );
}

const Answered = memo(({ turn, message, isRunning }: { turn: Turn; message: Message; isRunning: boolean }) => {
  const text = textOf(message.content);
  if (message.role === "reasoning") return <Reasoning text={text} isOpen={message.isOpen && isRunning} />;
  if (message.role === "activity") {
    return (
      <p class="activity" dir="auto">
        {text}
      </p>
    );
  }
  return (
    <div class={`message ${message.isOpen && isRunning ? "writing" : ""}`}>
      {text !== "" && <Markdown text={text} />}
      {typeof message.content !== "string" && <Made parts={message.content.filter((part) => part.text === undefined)} />}
      {message.isCut && <p class="nothing">The server stopped here, and the answer was asked for again.</p>}
      {message.calls.map((call) => (
        <ToolCard key={call.id} call={call} turn={turn.id} questions={turn.questions.filter((question) => question.toolCallId === call.id)} />
      ))}
    </div>
  );
});

function Reasoning({ text, isOpen }: { text: string; isOpen: boolean }) {
  return (
    <details class={`reasoning ${isOpen ? "writing" : ""}`}>
      <summary>
        <Icon name="bulb" />
        <span>{isOpen ? "Reasoning…" : "Reasoning"}</span>
        <span class="tool-chevron">
          <Icon name="chevron" />
        </span>
      </summary>
      <Markdown text={text} />
    </details>
  );
}

/** Another turn begins, and the button for it is gone. */
function anew(begin: (turn: Turn) => Promise<boolean>, turn: Turn): void {
  void begin(turn);
  toComposer();
}

/** How the turn ended, where that is worth a word. */
function End({ turn, isLast }: { turn: Turn; isLast: boolean }) {
  if (turn.error && isLimit(turn.error)) {
    return (
      <div class="end limit" role="group" aria-label="A limit was reached">
        <Icon name="alert" />
        <div>
          <strong>{turn.error.code === "max_tool_rounds" || turn.error.code === "max_tool_calls" ? "Tool limit reached" : "Limit reached"}</strong>
          <p>{`${sentence(turn.error.message)} What was done so far stands.`}</p>
        </div>
        {isLast && (
          <button type="button" class="button" onClick={() => anew(goOn, turn)}>
            Go on
          </button>
        )}
      </div>
    );
  }
  if (turn.error || turn.status === "failed") {
    return (
      <div class="end failed" role="group" aria-label="The answer failed">
        <Icon name="cross" />
        <div>
          <strong>The answer failed</strong>
          <p dir="auto">{sentence(turn.error?.message ?? "The server's log says why.")}</p>
          {turn.error?.code && <code>{turn.error.code}</code>}
        </div>
        <button type="button" class="button" onClick={() => anew(retry, turn)}>
          <Icon name="again" />
          Try again
        </button>
      </div>
    );
  }
  if (turn.status === "cancelled") {
    return (
      <div class="end stopped" role="group" aria-label="Stopped">
        <Icon name="barred" />
        <div>
          <strong>Stopped</strong>
        </div>
        {isLast && (
          <button type="button" class="button" onClick={() => anew(retry, turn)}>
            <Icon name="again" />
            Try again
          </button>
        )}
      </div>
    );
  }
  return null;
}

function sentence(words: string): string {
  const text = words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

function Actions({ turn, answers }: { turn: Turn; answers: Message[] }) {
  const text = answers
    .filter((message) => message.role === "assistant")
    .map((message) => textOf(message.content))
    .filter(Boolean)
    .join("\n\n");
  const isWell = turn.status === "complete" && !turn.error;
  const { thread } = place.value;
  return (
    <div class="answer-actions">
      {text !== "" && turn.status !== "streaming" && (
        <button type="button" class="quiet" aria-label="Copy the answer" title="Copy" onClick={() => void copy(text)}>
          <Icon name="copy" />
        </button>
      )}
      {isWell && (
        <button type="button" class="quiet" aria-label="Another answer" title="Another answer" onClick={() => anew(retry, turn)}>
          <Icon name="again" />
        </button>
      )}
      {thread !== null && (
        <button type="button" class="quiet" aria-label="Inspect this turn" title="Inspect" onClick={() => void inspect({ thread, turn: turn.id })}>
          <Icon name="inspect" />
        </button>
      )}
    </div>
  );
}
