// Where the user writes.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { announce } from "./announce";
import { accepted, attachments, contentOf, take } from "./attachments";
import { Icon } from "./icons";
import { toQuestion } from "./focus";
import { goTo, place } from "./place";
import { displaced, problem, running, say, state, stop, stopping } from "./session";
import { ofTab } from "./storage";
import { pictureOf } from "./view";
import { visible } from "./visible";

const draftOf = (thread: string | null): string => `stepwell.draft.${thread ?? ""}`;

export function Composer() {
  const { thread } = place.value;
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const turn = running.value;
  const isAsked = (turn?.questions.length ?? 0) > 0;
  const [isEarly, setEarly] = useState(false);
  const isReady = state.value === "new" || state.value === "ready";

  useEffect(() => {
    if (!turn) setEarly(false);
  }, [turn]);
  // What was begun to be written is there again after a reload.
  useLayoutEffect(() => setText(ofTab.get(draftOf(thread)) ?? ""), [thread]);
  useLayoutEffect(() => {
    const input = field.current;
    if (!input) return;
    input.style.height = "auto";
    input.style.height = `${input.scrollHeight}px`;
  }, [text]);

  const write = (words: string): void => {
    setText(words);
    if (words === "") ofTab.remove(draftOf(thread));
    else ofTab.set(draftOf(thread), words);
  };
  const send = async (): Promise<void> => {
    const said = text.trim();
    const attached = attachments.value;
    if ((said === "" && attached.length === 0) || !isReady) return;
    if (turn) {
      setEarly(true);
      announce(EARLY);
      return;
    }
    write("");
    attachments.value = [];
    if (await say(contentOf(said, attached))) return;
    // What could not be sent is not lost.
    if (field.current?.value === "") write(said);
    if (attachments.value.length === 0) attachments.value = attached;
  };
  const stopAndStay = (): void => {
    void stop();
    field.current?.focus();
  };

  return (
    <form
      class="composer"
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {problem.value !== null && (
        <p class="problem" role="alert">
          {problem.value}
          <button type="button" class="quiet" aria-label="Dismiss" onClick={() => (problem.value = null)}>
            <Icon name="close" />
          </button>
        </p>
      )}
      {displaced.value !== null && <Displaced turn={displaced.value} />}
      <Attached />
      <div class="field">
        <button type="button" class="quiet attach" aria-label="Attach files" title="Attach files" onClick={() => chooser.current?.click()}>
          <Icon name="attach" />
        </button>
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          aria-label="Files"
          accept={accepted.value}
          onChange={(event) => {
            const { currentTarget } = event;
            void take([...(currentTarget.files ?? [])]).then(() => {
              currentTarget.value = "";
              field.current?.focus();
            });
          }}
        />
        <textarea
          id="composer"
          ref={field}
          rows={1}
          dir="auto"
          aria-label="Message"
          aria-describedby="composer-hint"
          placeholder={isAsked ? "Answer above first" : "Write a message"}
          value={text}
          onInput={(event) => write(event.currentTarget.value)}
          onPaste={(event) => {
            const files = [...(event.clipboardData?.files ?? [])];
            if (files.length === 0) return;
            event.preventDefault();
            void take(files);
          }}
          onKeyDown={(event) => {
            if (event.isComposing) return;
            if (event.key === "Escape" && turn) stopAndStay();
            if (event.key !== "Enter" || event.shiftKey) return;
            event.preventDefault();
            void send();
          }}
        />
        {turn ? (
          <button type="button" class="round stop" aria-label="Stop" title="Stop (Esc)" disabled={stopping.value === turn.id} onClick={stopAndStay}>
            <Icon name="stop" />
          </button>
        ) : (
          <button type="submit" class="round send" aria-label="Send" title="Send (Enter)" disabled={(text.trim() === "" && attachments.value.length === 0) || !isReady}>
            <Icon name="send" />
          </button>
        )}
      </div>
      <p id="composer-hint" class={`hint ${isAsked ? "asked" : isEarly ? "early" : ""}`}>
        {isAsked ? (
          <button type="button" onClick={toQuestion}>
            Go to the question
          </button>
        ) : (
          hint(turn !== null, isEarly)
        )}
      </p>
    </form>
  );
}

/** Said of a message that cannot be sent yet. */
const EARLY = "Not sent: the answer is still coming. Esc stops it.";

function hint(isAnswering: boolean, isEarly: boolean): string {
  if (!isAnswering) return "Enter sends, Shift and Enter begin a new line.";
  if (stopping.value !== null) return "Stopping…";
  return isEarly ? EARLY : "Esc stops the answer.";
}

/** What goes with the message. */
function Attached() {
  const all = attachments.value;
  if (all.length === 0) return null;
  return (
    <ul class="attached" aria-label="Attached">
      {all.map(({ id, name, part }) => {
        const picture = pictureOf(part);
        return (
          <li key={id}>
            {picture !== null && <img alt="" src={picture} />}
            <bdi>{visible(name)}</bdi>
            <button type="button" class="quiet" aria-label={`Remove ${visible(name)}`} title="Remove" onClick={() => (attachments.value = all.filter((other) => other.id !== id))}>
              <Icon name="close" />
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** Another message took the place of the user's: theirs is not gone. */
function Displaced({ turn }: { turn: string }) {
  return (
    <p class="displaced" role="status">
      Another message was sent to this session, from another tab or program, and stopped yours.
      <button type="button" class="button small" onClick={() => goTo(place.value.thread, turn)}>
        Show mine
      </button>
      <button type="button" class="quiet" aria-label="Dismiss" onClick={() => (displaced.value = null)}>
        <Icon name="close" />
      </button>
    </p>
  );
}
