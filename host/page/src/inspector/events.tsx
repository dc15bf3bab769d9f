// The events of a turn as they came, to be filtered and copied.
import { useMemo, useState } from "preact/hooks";
import { visible } from "../visible";
import { Copy, Fold, Nothing } from "./data";

export interface Seen {
  index: number;
  /** How it is called in the list. */
  kind: string;
  /** When, as it is shown. */
  when: string;
  event: unknown;
}

/** So many are drawn at once. */
const SHOWN = 200;

export function Events({ events, dropped = 0 }: { events: Seen[]; dropped?: number }) {
  const [filter, setFilter] = useState("");
  const [most, setMost] = useState(SHOWN);
  const wanted = filter.trim().toLowerCase();
  const found = useMemo(() => (wanted === "" ? events : events.filter(({ event }) => JSON.stringify(event).toLowerCase().includes(wanted))), [events, wanted]);
  const shown = found.slice(-most);
  return (
    <>
      <div class="bar">
        <label class="filter">
          <span class="unseen">Filter the events</span>
          <input type="search" placeholder="Filter: a type, a word" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        </label>
        <Copy label="Copy all" text={() => found.map(({ event }) => JSON.stringify(event)).join("\n")} />
      </div>
      <p class="tally" role="status">
        {`${found.length} of ${events.length} events${dropped > 0 ? `; ${dropped} before them are not kept` : ""}`}
      </p>
      {found.length > shown.length && (
        <button type="button" class="button small" onClick={() => setMost(most + SHOWN)}>
          Show earlier ones
        </button>
      )}
      {found.length === 0 && <Nothing>No event is like that.</Nothing>}
      <ol class="rows">
        {shown.map(({ index, kind, when, event }) => (
          <li key={index}>
            <Fold
              value={event}
              summary={
                <>
                  <span class="number">{index}</span>
                  <span class="kind">{kind}</span>
                  <span class="gist">{gist(event)}</span>
                  <span class="when">{when}</span>
                </>
              }
            />
          </li>
        ))}
      </ol>
    </>
  );
}

/** The one thing of an event that one looks for. */
function gist(event: unknown): string {
  if (typeof event !== "object" || event === null) return "";
  const fields = event as Record<string, unknown>;
  const value = fields.delta ?? fields.toolCallName ?? fields.name ?? fields.message ?? fields.content ?? fields.status ?? "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return visible(text).replace(/\s+/g, " ").slice(0, 120);
}
