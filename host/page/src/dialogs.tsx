// What stands before the page until the user has answered.
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { giveToken, tokenAsked } from "./api";

function Dialog(props: { title: string; onCancel?: () => void; children: ComponentChildren }) {
  const { title, onCancel, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    // It gives the focus back to where it was.
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onCancel?.();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

export function Confirm(props: { title: string; words: string; action: string; onConfirm: () => Promise<void>; onCancel: () => void }) {
  const { title, words, action, onConfirm, onCancel } = props;
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const confirm = async (): Promise<void> => {
    setBusy(true);
    try {
      await onConfirm();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onCancel={onCancel}>
      <p dir="auto">{words}</p>
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="answers">
        <button type="button" class="button" disabled={isBusy} onClick={onCancel}>
          Cancel
        </button>
        <button type="button" class="button danger" disabled={isBusy} onClick={() => void confirm()}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}

/** Asks for the server's token, where it wants one. */
export function TokenDialog() {
  const [text, setText] = useState("");
  const asked = tokenAsked.value;
  if (!asked) return null;
  return (
    <Dialog title="This server wants a token">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() === "") return;
          setText("");
          giveToken(text);
        }}
      >
        <p>It is the one that the server was started with. This tab keeps it until it is closed.</p>
        {asked.wasWrong && (
          <p class="problem" role="alert">
            The server does not take this token.
          </p>
        )}
        <label class="reason">
          <span>Token</span>
          <input type="password" autocomplete="off" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <div class="answers">
          <button type="submit" class="button primary" disabled={text.trim() === ""}>
            Go on
          </button>
        </div>
      </form>
    </Dialog>
  );
}
