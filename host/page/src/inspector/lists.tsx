// The requests of a run, its blocks, and the inputs of its journal.
import { visible } from "../visible";
import { Copy, duration, Fold, Nothing, pretty } from "./data";
import { blocks, requests, type Block, type Journal } from "./journal";

function NotInFull() {
  return (
    <Nothing>
      The journal has them by name only: <code>stepwell replay FILE --full COPY</code> writes one that has them.
    </Nothing>
  );
}

export function Requests({ journal, at, start }: { journal: Journal; at: number; start: number }) {
  if (!journal.isFull) return <NotInFull />;
  const all = requests(journal, at);
  if (all.length === 0) return <Nothing>No request was sent yet.</Nothing>;
  return (
    <>
      <p class="tally">Keys, and other headers that may be secret, are not shown.</p>
      <ol class="rows">
        {all.map((request) => (
          <li key={`${request.hop}:${request.attempt}`}>
            <Fold
              value={request.body}
              summary={
                <>
                  <span class="number">{request.attempt === 0 ? `hop ${request.hop}` : `hop ${request.hop}, try ${request.attempt + 1}`}</span>
                  <span class="gist">{visible(`${request.method} ${request.url}`)}</span>
                  <span class="when">{duration(request.at - start)}</span>
                </>
              }
            >
              <pre class="data" dir="ltr" tabIndex={0} role="region" aria-label="Headers">
                {visible(request.headers.map(([name, value]) => `${name}: ${value}`).join("\n"))}
              </pre>
            </Fold>
          </li>
        ))}
      </ol>
    </>
  );
}

export function Blocks({ journal, at, start }: { journal: Journal; at: number; start: number }) {
  if (!journal.isFull) return <NotInFull />;
  const all = blocks(journal, at);
  if (all.length === 0) return <Nothing>No block was given out to be stored yet.</Nothing>;
  return (
    <ol class="rows">
      {all.map((block) => (
        <li key={block.sequence}>
          <Fold
            value={block.content}
            summary={
              <>
                <span class="number">{block.sequence}</span>
                <span class="kind">{block.content.type}</span>
                <span class="gist">{gist(block)}</span>
                <span class="when">{`hop ${block.hop}, ${duration(block.at - start)}`}</span>
              </>
            }
          />
        </li>
      ))}
    </ol>
  );
}

function gist({ content }: Block): string {
  const value = content.text ?? content.name ?? content.content ?? content.decision ?? "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return visible(text).replace(/\s+/g, " ").slice(0, 120);
}

/** So many inputs stand before and after the one that is looked at. */
const AROUND = 60;

export function Inputs({ journal, at, start, onChosen }: { journal: Journal; at: number; start: number; onChosen: (at: number) => void }) {
  const from = Math.max(0, at - AROUND);
  const shown = journal.entries.slice(from, at + AROUND + 1);
  const chosen = journal.entries[at];
  return (
    <>
      {chosen && (
        <div class="chosen">
          <div class="bar">
            <strong>{`Input ${at + 1}: ${visible(chosen.name)}`}</strong>
            <Copy text={() => pretty(chosen.input)} />
          </div>
          <pre class="data" dir="ltr" tabIndex={0} role="region" aria-label="The input">
            {visible(pretty(chosen.input))}
          </pre>
          {chosen.refused !== null && <p class="problem">{`It was refused: ${visible(chosen.refused)}`}</p>}
        </div>
      )}
      <ol class="rows inputs">
        {shown.map((entry, index) => (
          <li key={from + index}>
            <button type="button" aria-current={from + index === at ? "step" : undefined} onClick={() => onChosen(from + index)}>
              <span class="number">{from + index + 1}</span>
              <span class="kind">{visible(entry.name)}</span>
              <span class="gist">{visible(entry.outputs.join(", "))}</span>
              <span class="when">{duration(entry.at - start)}</span>
            </button>
          </li>
        ))}
      </ol>
    </>
  );
}
