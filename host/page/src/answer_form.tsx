// What the forms of questions are made of.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface Ending {
  /** What the button says that gives the answer. */
  give: string;
  /** What the other one says. */
  leave: string;
  isBusy: boolean;
  onLeave: () => void;
}

/** The two ends of a form. */
export function Ends({ give, leave, isBusy, onLeave }: Ending) {
  return (
    <div class="answers">
      <button type="submit" class="button primary" disabled={isBusy}>
        {give}
      </button>
      <button type="button" class="button" disabled={isBusy} onClick={onLeave}>
        {leave}
      </button>
    </div>
  );
}

interface Json extends Ending {
  label: string;
  initial?: string;
  /** It is what the user has just asked for: it has the focus, and Escape leaves it. */
  isOpened?: boolean;
  /** What is wrong with a value that is JSON. */
  wrong?: (value: unknown) => string | null;
  onGive: (value: unknown) => void;
  /** What stands below the text. */
  children?: (text: string) => ComponentChildren;
}

/** An answer in JSON. What is none is not given. */
export function JsonForm({ label, initial = "", isOpened = false, wrong, onGive, children, ...ends }: Json) {
  const [text, setText] = useState(initial);
  const [problem, setProblem] = useState<string | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (isOpened) field.current?.focus();
  }, []);
  const give = (): void => {
    const read = readJson(text);
    const refused = "problem" in read ? `This is no JSON: ${read.problem}` : (wrong?.(read.value) ?? null);
    setProblem(refused);
    if (refused !== null || "problem" in read) field.current?.focus();
    else onGive(read.value);
  };
  return (
    <form
      class="edit-arguments"
      onSubmit={(event) => {
        event.preventDefault();
        give();
      }}
    >
      <label class="reason">
        <span>{label}</span>
        <textarea
          ref={field}
          dir="ltr"
          spellcheck={false}
          rows={Math.min(14, Math.max(3, text.split("\n").length + 1))}
          value={text}
          disabled={ends.isBusy}
          aria-invalid={problem !== null}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setProblem(null);
          }}
          onKeyDown={(event) => {
            if (event.key !== "Escape" || !isOpened) return;
            event.stopPropagation();
            ends.onLeave();
          }}
        />
      </label>
      {children?.(text)}
      <Problem text={problem} />
      <Ends {...ends} />
    </form>
  );
}

function readJson(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

export function Problem({ text }: { text: string | null }) {
  return text === null ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}
