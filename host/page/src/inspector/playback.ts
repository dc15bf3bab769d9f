// The answer as it stood at an entry of a journal: what the run gave out, folded as the page folds a live turn.
import { apply, type AgUiEvent } from "../live";
import type { Content, Turn } from "../view";
import { outputs, tagged, type Journal } from "./journal";

interface Update {
  tool_call_id: string;
  name: string;
  status: string;
  result?: { Ok?: Content; Err?: { message?: string } } | null;
}

export function turnAt(journal: Journal, upTo: number): Turn {
  let turn: Turn = { id: "played", parent: null, status: "streaming", createdAt: 0, messages: [], questions: [], compactions: [] };
  const start = journal.entries.find(({ name }) => name === "start")?.input as { message?: { id: string; content?: Content } } | undefined;
  if (start?.message && upTo >= 0) {
    const { id, content = "" } = start.message;
    turn = { ...turn, messages: [{ id, role: "user", content, calls: [], isOpen: false }] };
  }
  for (const { output } of outputs(journal, upTo)) {
    if (output.event === undefined) continue;
    for (const event of eventsOf(output.event)) turn = apply(turn, event);
  }
  return turn;
}

function eventsOf(event: unknown): AgUiEvent[] {
  const [kind, value] = tagged(event);
  if (kind === "ag_ui") return [value as AgUiEvent];
  if (kind !== "tool_call") return [];
  const { tool_call_id: toolCallId, name, status, result } = value as Update;
  const moved = { type: "CUSTOM", name: "tool_status", value: { toolCallId, status, label: name } };
  if (!result) return [moved];
  return [moved, { type: "TOOL_CALL_RESULT", toolCallId, content: result.Ok ?? result.Err?.message ?? "" }];
}
