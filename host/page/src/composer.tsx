// Where the user writes.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icons";
import { place } from "./place";
import { problem, running, say, state, stop, stopping } from "./session";
import { ofTab } from "./storage";

const draftOf = (thread: string | null): string => `stepwell.draft.${thread ?? ""}`;

export function Composer() {
  const { thread } = place.value;
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const turn = running.value;
  const isAsked = (turn?.questions.length ?? 0) > 0;
  const isReady = state.value === "new" || state.value === "ready";

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
    if (said === "" || turn || !isReady) return;
    write("");
    // What could not be sent is not lost.
    if (!(await say(said)) && field.current?.value === "") write(said);
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
      <div class="field">
        <textarea
          id="composer"
          ref={field}
          rows={1}
          dir="auto"
          aria-label="Message"
          aria-describedby="composer-hint"
          placeholder={isAsked ? "Answer the question above first" : "Write a message"}
          value={text}
          onInput={(event) => write(event.currentTarget.value)}
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
          <button type="submit" class="round send" aria-label="Send" title="Send (Enter)" disabled={text.trim() === "" || !isReady}>
            <Icon name="send" />
          </button>
        )}
      </div>
      <p id="composer-hint" class="hint">
        {stopping.value !== null && turn ? "Stopping…" : turn ? "Esc stops the answer." : "Enter sends, Shift and Enter begin a new line."}
      </p>
    </form>
  );
}
