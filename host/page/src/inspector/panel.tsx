// The inspector: a turn, or a journal from a file, from within.
import { signal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJournal, getThread } from "../api";
import { Icon } from "../icons";
import { closeInspector, openJournal, type Inspected } from "../inspect";
import { problem } from "../session";
import { visible } from "../visible";
import { download, duration, Nothing } from "./data";
import { Events, type Seen } from "./events";
import { outputs, parse, tagged, type Journal } from "./journal";
import { Blocks, Inputs, Requests } from "./lists";
import { markdownOf } from "./markdown_of";
import { Run } from "./run";
import { Source } from "./source";

const TABS = ["Run", "Events", "Requests", "Blocks", "Inputs"] as const;
type Tab = (typeof TABS)[number];

/** As the user left it, for the next turn that is looked at. */
const tab = signal<Tab>("Run");

export function Panel({ of }: { of: Inspected }) {
  const key = "turn" in of ? `${of.thread}/${of.turn}` : of.name;
  const heading = useRef<HTMLHeadingElement>(null);
  // Whoever has no mouse goes on from here.
  useLayoutEffect(() => heading.current?.focus(), [of]);
  return (
    <aside
      id="inspector"
      aria-label="Inspector"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.stopPropagation();
        closeInspector();
      }}
    >
      <div class="inspector-head">
        <h2 ref={heading} tabIndex={-1}>
          {"turn" in of ? "Inspector" : <bdi>{visible(of.name)}</bdi>}
        </h2>
        <button type="button" class="quiet" aria-label="Close the inspector" title="Close (Esc)" onClick={closeInspector}>
          <Icon name="close" />
        </button>
      </div>
      {"turn" in of ? <OfTurn key={key} thread={of.thread} turn={of.turn} /> : <OfFile key={key} text={of.text} />}
    </aside>
  );
}

function OfTurn({ thread, turn }: { thread: string; turn: string }) {
  const source = useMemo(() => new Source(thread, turn), [thread, turn]);
  useEffect(() => () => source.close(), [source]);
  const journal = source.journal.value;
  const events = source.events.value.map(({ event, at }, index): Seen => ({
    index: source.dropped.value + index,
    kind: event.type === "CUSTOM" ? `CUSTOM ${event.name ?? ""}` : event.type,
    when: at === null ? "" : at.toLocaleTimeString("en", { hour12: false }),
    event,
  }));
  return (
    <>
      <Downloads thread={thread} turn={turn} hasJournal={journal !== null} isRedacted={journal?.isRedacted === true} />
      <Parts journal={journal} missing={source.missing.value} isCut={source.isCut.value} events={{ events, dropped: source.dropped.value }} isPlayed={false} />
    </>
  );
}

function OfFile({ text }: { text: string }) {
  const [journal, wrong] = useMemo((): [Journal | null, string | null] => {
    try {
      return [parse(text), null];
    } catch (error) {
      return [null, `The journal cannot be read: ${(error as Error).message}.`];
    }
  }, [text]);
  return <Parts journal={journal} missing={wrong} isCut={journal?.isClosed === false} events={null} isPlayed={true} />;
}

/** Does something that may fail, and says so. */
async function attempt(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    problem.value = error instanceof Error ? error.message : String(error);
  }
}

function Downloads({ thread, turn, hasJournal, isRedacted }: { thread: string; turn: string; hasJournal: boolean; isRedacted: boolean }) {
  const journal = (redacted: boolean): void =>
    void attempt(async () => download(`${turn}${redacted ? "-redacted" : ""}.jsonl`, "application/jsonl", await getJournal(thread, turn, redacted)));
  const whole = (isMarkdown: boolean): void =>
    void attempt(async () => {
      const detail = await getThread(thread, turn);
      if (isMarkdown) download(`${thread}.md`, "text/markdown", markdownOf(detail.session));
      else download(`${thread}.json`, "application/json", `${JSON.stringify(detail.session, null, 2)}\n`);
    });
  return (
    <details class="downloads">
      <summary>Download</summary>
      <div class="bar">
        {hasJournal && !isRedacted && (
          <button type="button" class="button small" onClick={() => journal(false)}>
            Journal
          </button>
        )}
        {hasJournal && (
          <button type="button" class="button small" onClick={() => journal(true)}>
            Journal without its texts
          </button>
        )}
        <button type="button" class="button small" onClick={() => whole(true)}>
          Session as Markdown
        </button>
        <button type="button" class="button small" onClick={() => whole(false)}>
          Session as JSON
        </button>
      </div>
    </details>
  );
}

interface PartsOf {
  journal: Journal | null;
  /** Whether the journal ends before its run does, as far as is known. */
  isCut: boolean;
  /** Why there is none. */
  missing: string | null;
  /** Those of the stream; none where they are in the journal. */
  events: { events: Seen[]; dropped: number } | null;
  isPlayed: boolean;
}

function Parts({ journal, missing, isCut, events, isPlayed }: PartsOf) {
  const id = useId();
  // Until the user has chosen, it is the last entry, however many there are.
  const [chosen, setChosen] = useState<number | null>(null);
  const last = (journal?.entries.length ?? 0) - 1;
  const at = Math.min(chosen ?? last, last);
  const start = journal?.entries[0]?.at ?? 0;
  const now = tab.value;
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    tab.value = TABS[(TABS.indexOf(now) + step + TABS.length) % TABS.length]!;
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>("[aria-selected=true]")?.focus());
  };
  return (
    <>
      {journal && last >= 0 && <Slider journal={journal} at={at} onMove={(to) => setChosen(to >= last ? null : to)} />}
      {journal && isCut && <p class="slider-words">The journal was not closed: it came to the length that is kept, or its host stopped.</p>}
      <div ref={list} class="tabs" role="tablist" aria-label="What is shown" onKeyDown={move}>
        {TABS.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            aria-selected={name === now}
            aria-controls={`${id}-panel`}
            tabIndex={name === now ? 0 : -1}
            onClick={() => (tab.value = name)}
          >
            {name}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} class="tab-panel" role="tabpanel" tabIndex={0} aria-labelledby={`${id}-${now}`}>
        {now === "Events" && events ? (
          <Events {...events} />
        ) : journal === null || last < 0 ? (
          <Missing why={missing} isPlayed={isPlayed} />
        ) : (
          <>
            {now === "Run" && <Run journal={journal} at={at} isPlayed={isPlayed} />}
            {now === "Events" && <Events events={eventsOf(journal, at, start)} />}
            {now === "Requests" && <Requests journal={journal} at={at} start={start} />}
            {now === "Blocks" && <Blocks journal={journal} at={at} start={start} />}
            {now === "Inputs" && <Inputs journal={journal} at={at} start={start} onChosen={setChosen} />}
          </>
        )}
      </div>
    </>
  );
}

function Missing({ why, isPlayed }: { why: string | null; isPlayed: boolean }) {
  if (why === null) return isPlayed ? <Nothing>Nothing came to this run.</Nothing> : <p class="thinking">Reading the journal</p>;
  return (
    <div class="missing">
      <Nothing>{why}</Nothing>
      {!isPlayed && <Nothing>The events are here all the same, and a journal from a file can be played back.</Nothing>}
      <OpenJournal />
    </div>
  );
}

/** For those who cannot drop a file. */
function OpenJournal() {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class="button" onClick={() => field.current?.click()}>
        Open a journal…
      </button>
      <input
        ref={field}
        type="file"
        accept=".jsonl,.json,application/jsonl"
        aria-label="A journal"
        hidden
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file) void openJournal(file);
        }}
      />
    </>
  );
}

function eventsOf(journal: Journal, at: number, start: number): Seen[] {
  const all: Seen[] = [];
  for (const { at: when, output } of outputs(journal, at)) {
    if (output.event === undefined) continue;
    const [kind, value] = tagged(output.event);
    const type = (value as { type?: string } | null)?.type;
    all.push({ index: all.length, kind: kind === "ag_ui" && type ? type : kind, when: duration(when - start), event: kind === "ag_ui" ? value : output.event });
  }
  return all;
}

/** The longest that playing waits for the next input, whatever it took then. */
const LONGEST_STEP_MS = 500;

function Slider({ journal, at, onMove }: { journal: Journal; at: number; onMove: (at: number) => void }) {
  const [isPlaying, setPlaying] = useState(false);
  const { entries } = journal;
  const last = entries.length - 1;
  const entry = entries[at]!;
  const elapsed = duration(entry.at - entries[0]!.at);
  useEffect(() => {
    if (!isPlaying) return;
    if (at >= last) return setPlaying(false);
    const pause = Math.min(LONGEST_STEP_MS, Math.max(0, entries[at + 1]!.at - entry.at));
    const timer = setTimeout(() => onMove(at + 1), pause);
    return () => clearTimeout(timer);
  }, [isPlaying, at, last]);
  const words = `Input ${at + 1} of ${entries.length}: ${visible(entry.name)}, at ${elapsed}`;
  return (
    <div class="slider">
      <button
        type="button"
        class="quiet"
        aria-label={isPlaying ? "Pause" : "Play"}
        title={isPlaying ? "Pause" : "Play"}
        onClick={() => {
          if (!isPlaying && at >= last) onMove(0);
          setPlaying(!isPlaying);
        }}
      >
        <Icon name={isPlaying ? "pause" : "play"} />
      </button>
      <input
        type="range"
        min={0}
        max={last}
        value={at}
        aria-label="Where in the run"
        aria-valuetext={words}
        onInput={(event) => {
          setPlaying(false);
          onMove(Number(event.currentTarget.value));
        }}
      />
      <p class="slider-words">{words}</p>
      {journal.isRedacted && <p class="slider-words">The texts of this journal are hidden: what stands for them means nothing.</p>}
    </div>
  );
}
