// The whole page: the sessions at the left, the conversation, and where the user writes.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { polite, urgent } from "./announce";
import { Composer } from "./composer";
import { connection, tryNow } from "./connection";
import { Conversation } from "./conversation";
import { TokenDialog } from "./dialogs";
import { Icon } from "./icons";
import { place } from "./place";
import { running, title } from "./session";
import { Sidebar } from "./sidebar";

export function App() {
  const [isListOpen, setListOpen] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const name = place.value.thread === null ? "New session" : title.value || "Session";

  useSignalEffect(() => {
    const own = place.value.thread === null ? "" : `${title.value || "Session"} · `;
    document.title = `${running.value ? "● " : ""}${own}Stepwell`;
  });
  useEffect(() => {
    if (!isListOpen) return;
    document.querySelector<HTMLElement>("#sessions a")?.focus();
    const close = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      setListOpen(false);
    };
    addEventListener("keydown", close);
    return () => {
      removeEventListener("keydown", close);
      opener.current?.focus();
    };
  }, [isListOpen]);

  return (
    <>
      <a class="skip" href="#composer" onClick={toComposer}>
        To the message box
      </a>
      <aside id="sessions" class={isListOpen ? "open" : ""} aria-label="Sessions">
        <Sidebar onChosen={() => setListOpen(false)} />
      </aside>
      {isListOpen && <div class="veil" onClick={() => setListOpen(false)} />}
      <main inert={isListOpen}>
        <header>
          <button
            ref={opener}
            type="button"
            class="quiet open-list"
            aria-label="Sessions"
            aria-expanded={isListOpen}
            aria-controls="sessions"
            onClick={() => setListOpen(true)}
          >
            <Icon name="menu" />
          </button>
          <h1 dir="auto">{name}</h1>
        </header>
        <Connection />
        <Conversation />
        <Composer />
      </main>
      <div class="unseen" role="status" aria-live="polite">
        {polite.value}
      </div>
      <div class="unseen" role="alert" aria-live="assertive">
        {urgent.value}
      </div>
      <TokenDialog />
    </>
  );
}

function toComposer(event: Event): void {
  event.preventDefault();
  document.getElementById("composer")?.focus();
}

function Connection() {
  const now = connection.value;
  return (
    <div class={`connection ${now}`} role="status">
      {now === "lost" && (
        <>
          <span class="spinner small" aria-hidden="true" />
          <span>The connection was lost. Trying again…</span>
          <button type="button" class="button small" onClick={tryNow}>
            Try now
          </button>
        </>
      )}
      {now === "found" && (
        <>
          <Icon name="tick" />
          <span>Connected again.</span>
        </>
      )}
    </div>
  );
}
