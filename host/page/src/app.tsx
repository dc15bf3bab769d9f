// The whole page: the sessions at the left, the conversation, and where the user writes.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { polite, urgent } from "./announce";
import { take } from "./attachments";
import { Composer } from "./composer";
import { connection, tryNow } from "./connection";
import { Conversation } from "./conversation";
import { TokenDialog } from "./dialogs";
import { Icon } from "./icons";
import { closeInspector, inspected, Inspector } from "./inspect";
import { place } from "./place";
import { running, title } from "./session";
import { chooseModel, model as chosen, models, server } from "./server";
import { SharedState } from "./shared_state";
import { Sidebar } from "./sidebar";
import { threads } from "./threads";
import { visible } from "./visible";

export function App() {
  const [isListOpen, setListOpen] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const name = place.value.thread === null ? "New session" : visible(title.value) || "Session";

  useSignalEffect(() => {
    const own = place.value.thread === null ? "" : `${title.value || "Session"} · `;
    const asks = (running.value?.questions.length ?? 0) > 0 || threads.value?.some(({ needsUser }) => needsUser);
    document.title = `${asks ? "Needs you · " : running.value ? "● " : ""}${own}Stepwell`;
  });
  // At once, and not after the page is drawn: the next key may be Escape.
  useLayoutEffect(() => {
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

  useEffect(() => {
    const over = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    };
    const drop = (event: DragEvent): void => {
      const files = [...(event.dataTransfer?.files ?? [])];
      if (files.length === 0 || event.defaultPrevented) return;
      event.preventDefault();
      void take(files);
    };
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
    };
  }, []);
  const isNarrow = useMedia("(max-width: 70rem)");
  const look = inspected.value;
  const Look = Inspector.value;
  // What is inspected is of the session that is shown.
  useEffect(() => {
    if (look && "turn" in look && look.thread !== place.value.thread) closeInspector();
  }, [place.value.thread]);

  return (
    <>
      <a class="skip" href="#composer" onClick={toComposer}>
        To the message box
      </a>
      <aside id="sessions" class={isListOpen ? "open" : ""} aria-label="Sessions">
        <Sidebar onChosen={() => setListOpen(false)} />
      </aside>
      {isListOpen && <div class="veil" onClick={() => setListOpen(false)} />}
      <main inert={isListOpen || (look !== null && isNarrow)}>
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
          <Model />
        </header>
        <Connection />
        <Conversation />
        <SharedState />
        <Composer />
      </main>
      {look && Look && <Look of={look} />}
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

/** Who answers. */
function Model() {
  const { provider, model } = server.value?.custom ?? {};
  if (!model) return null;
  if (models.value.length > 1) {
    return (
      <select class="model" aria-label="Model" value={chosen.value ?? ""} onChange={(event) => chooseModel(event.currentTarget.value)}>
        {models.value.map((name) => (
          <option key={name} value={name}>
            {visible(name)}
          </option>
        ))}
      </select>
    );
  }
  return (
    <p class="model" title={`The model ${visible(model)} of ${visible(provider ?? "")} answers`}>
      <span class="provider">
        <bdi>{visible(provider ?? "")}</bdi>
        {" · "}
      </span>
      <bdi>{visible(model)}</bdi>
    </p>
  );
}

function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const change = (): void => setMatches(media.matches);
    change();
    media.addEventListener("change", change);
    return () => media.removeEventListener("change", change);
  }, [query]);
  return matches;
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
      {now === "slow" && (
        <>
          <span class="spinner small" aria-hidden="true" />
          <span>The server has not answered for a while. The page waits for it.</span>
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
