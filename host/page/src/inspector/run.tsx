// A run at a glance: its state and its way, and what each hop took.
import { Markdown } from "../markdown";
import { textOf } from "../view";
import { visible } from "../visible";
import { Chart, INITIAL } from "./chart";
import { count, dollars, duration, Nothing } from "./data";
import { hops, type Hop } from "./hops";
import { states, type Journal } from "./journal";
import { turnAt } from "./playback";

export function Run({ journal, at, isPlayed }: { journal: Journal; at: number; isPlayed: boolean }) {
  const all = hops(journal, at);
  return (
    <>
      <Chart states={states(journal, at, INITIAL)} />
      <h3>Hops</h3>
      <Hops hops={all} />
      {isPlayed && (
        <>
          <h3>Answer</h3>
          <Answer journal={journal} at={at} />
        </>
      )}
    </>
  );
}

const since = (from: number | null, to: number | null): number | null => (from === null || to === null ? null : to - from);

function total(all: (number | null)[]): number | null {
  const known = all.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((one, other) => one + other, 0);
}

function Hops({ hops: all }: { hops: Hop[] }) {
  if (all.length === 0) return <Nothing>Nothing was asked of a model yet.</Nothing>;
  const hasCost = all.some(({ cost }) => cost !== null);
  const first = all[0]!;
  const last = all.at(-1)!;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Hops">
      <table>
        <thead>
          <tr>
            <th scope="col">Hop</th>
            <th scope="col">Model</th>
            <th scope="col">First bytes</th>
            <th scope="col">Time</th>
            <th scope="col">Tokens in</th>
            <th scope="col">out</th>
            {hasCost && <th scope="col">Cost</th>}
            <th scope="col">Tools</th>
          </tr>
        </thead>
        <tbody>
          {all.map((hop) => (
            <tr key={hop.hop}>
              <th scope="row">
                {hop.hop}
                {hop.tries > 1 && <small>{` (${hop.tries} tries)`}</small>}
              </th>
              <td>
                <bdi>{visible(hop.model)}</bdi>
              </td>
              <td>{duration(since(hop.askedAt, hop.firstAt))}</td>
              <td>{duration(since(hop.askedAt, hop.endedAt))}</td>
              <td title={details(hop)}>{count(hop.input)}</td>
              <td title={details(hop)}>{count(hop.output)}</td>
              {hasCost && <td>{dollars(hop.cost)}</td>}
              <td>
                {hop.tools.map((tool) => (
                  <div key={tool.index}>
                    <bdi>{visible(tool.name)}</bdi> {tool.endedAt === null ? "…" : duration(tool.endedAt - tool.beganAt)}
                  </div>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
        {all.length > 1 && (
          <tfoot>
            <tr>
              <th scope="row">All</th>
              <td />
              <td>{duration(since(first.askedAt, first.firstAt))}</td>
              <td>{duration(since(first.askedAt, last.endedAt))}</td>
              <td>{count(total(all.map(({ input }) => input)))}</td>
              <td>{count(total(all.map(({ output }) => output)))}</td>
              {hasCost && <td>{dollars(total(all.map(({ cost }) => cost)))}</td>}
              <td />
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}

function details({ cached, reasoning }: Hop): string | undefined {
  const words = [];
  if (cached !== null) words.push(`${count(cached)} of the request from a cache`);
  if (reasoning !== null) words.push(`${count(reasoning)} of the answer reasoning`);
  return words.join(", ") || undefined;
}

function Answer({ journal, at }: { journal: Journal; at: number }) {
  if (!journal.isFull) {
    return (
      <Nothing>
        This journal names what came of each input. With requests, events and blocks it is written by <code>stepwell replay FILE --full COPY</code>.
      </Nothing>
    );
  }
  const { messages } = turnAt(journal, at);
  return (
    <div class="played">
      {messages.map((message) => (
        <div key={message.id} class={`played-${message.role}`}>
          {message.role === "user" ? (
            <div class="bubble" dir="auto">
              {textOf(message.content)}
            </div>
          ) : (
            textOf(message.content) !== "" && <Markdown text={textOf(message.content)} />
          )}
          {message.calls.map((call) => (
            <p key={call.id} class="played-call">
              <code dir="ltr">{visible(`${call.name}(${call.args})`)}</code> {call.status.replaceAll("_", " ")}
            </p>
          ))}
        </div>
      ))}
    </div>
  );
}
