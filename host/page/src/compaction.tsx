// Where the conversation was compacted: what the model is sent from there on, and how that is undone.
import { announce } from "./announce";
import { Icon } from "./icons";
import { Markdown } from "./markdown";
import { compactions, lastUndone, sendsAll, standing, turns } from "./session";
import { textOf, titleOf, type Compaction, type Message } from "./view";

/** A compaction at its place in the conversation. */
export function CompactionNode({ compaction }: { compaction: Compaction }) {
  const all = compactions.peek();
  const place = all.indexOf(compaction);
  const isUndone = lastUndone.value > place;
  return (
    <div class={`compaction ${isUndone ? "undone" : ""}`} role="group" aria-label="Compaction">
      <details>
        <summary>
          <Icon name="fold" />
          <span>{titleOf(compaction, all[place - 1])}</span>
          {isUndone && <span class="mark">undone</span>}
          <span class="tool-chevron">
            <Icon name="chevron" />
          </span>
        </summary>
        <div class="compacted">
          <p>{leftOut(compaction)}</p>
          {compaction.summary !== undefined && <Markdown text={compaction.summary} />}
        </div>
      </details>
      {standing.value === compaction && <Undo />}
    </div>
  );
}

/** Takes the compaction away, with the next message. */
function Undo() {
  const isAsked = sendsAll.value;
  const set = (asked: boolean): void => {
    sendsAll.value = asked;
    announce(asked ? "Your next message is sent with the complete conversation." : "The conversation stays compacted.");
  };
  return (
    <div class="undo">
      {isAsked && <span>Your next message is sent with the complete conversation.</span>}
      <button type="button" class="button small" onClick={() => set(!isAsked)}>
        {isAsked ? "Keep it compacted" : "Undo"}
      </button>
    </div>
  );
}

/** So much of a message is quoted. */
const QUOTED = 60;

function quoted(message: Message): string {
  const text = textOf(message.content).replace(/\s+/g, " ").trim();
  return text.length > QUOTED ? `“${text.slice(0, QUOTED)}…”` : `“${text}”`;
}

/** Which messages the model is no longer sent. */
function leftOut({ through, kept, byProvider }: Compaction): string {
  const messages = turns.peek().flatMap((turn) => turn.messages);
  const end = messages.findIndex(({ id }) => id === through);
  const gone = messages.slice(0, end + 1).filter(({ id }) => !kept?.includes(id));
  const stay = "They stay here.";
  const [first] = gone;
  if (byProvider !== undefined) return "The provider continues from notes of its own, which only it can read. Earlier messages stay here.";
  if (through === undefined) return "The results of old tool calls are not sent to the model any more. They stay here.";
  if (first === undefined) return `The model is not sent the messages before this any more. ${stay}`;
  if (gone.length === 1) return `The model is not sent ${quoted(first)} any more. It stays here.`;
  return `The model is not sent ${gone.length} messages any more, from ${quoted(first)} to ${quoted(gone.at(-1)!)}. ${stay}`;
}
