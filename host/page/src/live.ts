// A turn as its events make it. See https://docs.ag-ui.com for the events.
import { activity, isFinal, isLimit, isOfRunningTool, type Call, type CallStatus, type CompactionState, type Content, type Message, type Question, type Turn, type TurnError } from "./view";

/** An event of the protocol's, as far as the page looks at it. */
export interface AgUiEvent {
  type: string;
  messageId?: string;
  role?: string;
  delta?: unknown;
  toolCallId?: string;
  toolCallName?: string;
  parentMessageId?: string;
  content?: unknown;
  activityType?: string;
  name?: string;
  value?: unknown;
  messages?: SnapshotMessage[];
  outcome?: { type: string };
  code?: string;
  message?: string;
}

interface SnapshotMessage {
  id: string;
  role: string;
  content?: Content;
  activityType?: string;
  error?: string;
  toolCallId?: string;
  toolCalls?: { id: string; function: { name: string; arguments: string } }[];
  metadata?: { cut?: boolean };
}

export function isEnd(event: AgUiEvent): boolean {
  return event.type === "RUN_FINISHED" || event.type === "RUN_ERROR";
}

/** The turn after an event. Both stay as they are where nothing changes. */
export function apply(turn: Turn, event: AgUiEvent): Turn {
  const next = changed(turn, event);
  const waiting = waitsFor(event);
  if (waiting !== undefined) return { ...next, waiting };
  if (next.waiting === undefined) return next;
  const { waiting: _, ...moved } = next;
  return moved;
}

/** What the turn waits for, if the event says so. */
function waitsFor({ name, value }: AgUiEvent): string | undefined {
  if (name === "retrying") return "The model did not answer. Trying again";
  if (name !== "store_waiting") return undefined;
  const message = (value as { message?: unknown } | null)?.message;
  return typeof message === "string" ? message.charAt(0).toUpperCase() + message.slice(1) : "The server's store is away";
}

function changed(turn: Turn, event: AgUiEvent): Turn {
  const id = event.messageId ?? "";
  const delta = typeof event.delta === "string" ? event.delta : "";
  switch (event.type) {
    case "TEXT_MESSAGE_START":
      return begin(turn, id, event.role === "user" ? "user" : "assistant");
    case "REASONING_MESSAGE_START":
      return begin(turn, id, "reasoning");
    case "TEXT_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_CONTENT":
      return withMessage(turn, id, (message) => ({ ...message, content: `${String(message.content)}${delta}` }));
    case "TEXT_MESSAGE_END":
    case "REASONING_MESSAGE_END":
      return withMessage(turn, id, (message) => ({ ...message, isOpen: false }));
    case "ACTIVITY_SNAPSHOT": {
      const shown = activity({ activity_type: event.activityType ?? "", content: event.content });
      return withMessage(begin(turn, id, shown.role), id, (message) => ({ ...message, ...shown, isOpen: false }));
    }
    case "TOOL_CALL_START":
      return beginCall(turn, event);
    case "TOOL_CALL_ARGS":
      return withCall(turn, event.toolCallId, (call) => ({ ...call, args: call.args + delta }));
    case "TOOL_CALL_END":
      return withCall(turn, event.toolCallId, (call) => (call.status === "streaming" ? { ...call, status: "pending" } : call));
    case "TOOL_CALL_RESULT":
      return withCall(turn, event.toolCallId, (call) => ({
        ...call,
        status: isFinal(call.status) ? call.status : "completed",
        result: event.content as Content,
      }));
    case "CUSTOM":
      return custom(turn, event);
    case "MESSAGES_SNAPSHOT":
      return snapshot(turn, event.messages ?? []);
    case "RUN_FINISHED":
      return end(turn, event.outcome?.type === "cancelled" ? "cancelled" : "complete");
    case "RUN_ERROR": {
      const error = { code: event.code ?? "", message: event.message ?? "" };
      return { ...end(turn, isLimit(error) ? "complete" : "failed"), error };
    }
    default:
      return turn;
  }
}

function end(turn: Turn, status: Turn["status"]): Turn {
  const messages = turn.messages.map((message) => (message.isOpen ? { ...message, isOpen: false } : message));
  return { ...turn, status, messages, questions: [] };
}

function custom(turn: Turn, { name, value }: AgUiEvent): Turn {
  if (typeof value !== "object" || value === null) return turn;
  switch (name) {
    case "tool_status": {
      const { toolCallId, status, label } = value as { toolCallId: string; status: CallStatus; label?: string };
      const moved = withCall(turn, toolCallId, (call) => ({ ...call, status, label: label ?? call.label }));
      // A question of its tool stands until the call is over.
      const stands = (question: Question): boolean => (isOfRunningTool(question) ? !isFinal(status) : status === "awaiting_approval");
      return { ...moved, questions: moved.questions.filter((question) => question.toolCallId !== toolCallId || stands(question)) };
    }
    case "tool_progress": {
      const { toolCallId, ...progress } = value as { toolCallId: string; fraction: number | null; message: string | null };
      return withCall(turn, toolCallId, (call) => ({ ...call, progress }));
    }
    case "interrupt": {
      const question = value as Question;
      const others = turn.questions.filter((other) => other.id !== question.id);
      return { ...turn, questions: [...others, question] };
    }
    case "context_trimmed": {
      const compaction = { ...(value as CompactionState), after: turn.messages.at(-1)?.id ?? null };
      return { ...turn, compactions: [...turn.compactions, compaction] };
    }
    // The turn is complete there: RUN_FINISHED follows.
    case "limit_reached":
    case "answer_incomplete":
      return { ...turn, error: value as TurnError };
    case "interrupt_answered": {
      const { interruptId } = value as { interruptId: string };
      return { ...turn, questions: turn.questions.filter((question) => question.id !== interruptId) };
    }
    default:
      return turn;
  }
}

function begin(turn: Turn, id: string, role: Message["role"]): Turn {
  if (turn.messages.some((message) => message.id === id)) {
    return withMessage(turn, id, (message) => ({ ...message, isOpen: true }));
  }
  return { ...turn, messages: [...turn.messages, { id, role, content: "", calls: [], isOpen: true }] };
}

function beginCall(turn: Turn, event: AgUiEvent): Turn {
  const id = event.toolCallId ?? "";
  const name = event.toolCallName ?? "";
  const owner = event.parentMessageId ?? `of-${id}`;
  const call: Call = { id, name, label: name, status: "streaming", args: "" };
  const known = turn.messages.some((message) => message.id === owner);
  const from = known
    ? turn
    : { ...turn, messages: [...turn.messages, { id: owner, role: "assistant" as const, content: "", calls: [], isOpen: false }] };
  return withMessage(from, owner, (message) => ({
    ...message,
    calls: [...message.calls.filter((other) => other.id !== id), call],
  }));
}

/** A host goes on with the turn that another began: what it has of it takes the place of what was shown. */
function snapshot(turn: Turn, all: SnapshotMessage[]): Turn {
  const before = new Map(turn.messages.flatMap((message) => message.calls).map((call) => [call.id, call]));
  const results = new Map(all.filter((message) => message.role === "tool").map((message) => [message.toolCallId, message]));
  const own = turn.messages.filter((message) => message.role === "user");
  // The turns before it are in the snapshot too.
  const first = own[0]?.id;
  const place = all.findIndex((message) => message.id === first);
  const last = all.findLastIndex((message) => message.role === "user");
  const rest = all.slice((place < 0 ? last : place) + 1);
  const messages = rest.flatMap((message): Message[] => {
    const role = message.role;
    if (role !== "assistant" && role !== "reasoning" && role !== "activity") return [];
    const calls = (message.toolCalls ?? []).map((call): Call => {
      const known = before.get(call.id);
      const result = results.get(call.id);
      const { name, arguments: args } = call.function;
      const status = known && isFinal(known.status) ? known.status : result ? (result.error ? "failed" : "completed") : (known?.status ?? "pending");
      const made: Call = { id: call.id, name, label: known?.label ?? name, status, args };
      const content = result?.content ?? known?.result;
      if (content !== undefined) made.result = content;
      return made;
    });
    const shown: Pick<Message, "role" | "content"> = role === "activity" ? activity({ activity_type: message.activityType ?? "", content: message.content }) : { role, content: message.content ?? "" };
    if (shown.content === "" && calls.length === 0) return [];
    const isCut = message.metadata?.cut === true;
    return [{ id: message.id, ...shown, calls, isOpen: false, ...(isCut && { isCut }) }];
  });
  return { ...turn, messages: [...own, ...messages] };
}

function withMessage(turn: Turn, id: string, change: (message: Message) => Message): Turn {
  const place = turn.messages.findLastIndex((message) => message.id === id);
  const message = turn.messages[place];
  if (!message) return turn;
  return { ...turn, messages: turn.messages.with(place, change(message)) };
}

function withCall(turn: Turn, id: string | undefined, change: (call: Call) => Call): Turn {
  const owner = turn.messages.findLast((message) => message.calls.some((call) => call.id === id));
  if (!owner) return turn;
  return withMessage(turn, owner.id, (message) => ({
    ...message,
    calls: message.calls.map((call) => (call.id === id ? change(call) : call)),
  }));
}
