// What the server says of a session, and what the page shows of it: the same shape for a stored turn and a live one.

/** What was said: a text, or the protocol's content parts. */
export type Content = string | ContentPart[];

export interface ContentPart {
  type: string;
  text?: string;
  source?: { type: "data" | "url"; value: string; mimeType?: string };
}

export type CallStatus =
  | "streaming"
  | "pending"
  | "awaiting_approval"
  | "executing"
  | "deferred"
  | "completed"
  | "failed"
  | "denied"
  | "cancelled";

/** The session as the server shows it. */
export interface View {
  title: string;
  turns: {
    id: string;
    parent?: string;
    status: Turn["status"];
    created_at: number;
    error?: TurnError;
    /** The limit at which it was complete. */
    limit?: TurnError;
    compactions?: (CompactionState & { after?: string })[];
  }[];
  messages: {
    id: string;
    turn?: string;
    role: Role;
    content: Content;
    activity?: { activity_type: string; content: unknown };
    tool_executions?: {
      tool_id: string;
      tool_name: string;
      label: string;
      status: CallStatus;
      args: unknown;
      result?: Content;
    }[];
    cut?: boolean;
  }[];
}

export type Role = "user" | "assistant" | "reasoning" | "activity";

/** A tool call. */
export interface Call {
  id: string;
  name: string;
  label: string;
  status: CallStatus;
  /** The arguments as the model wrote them. */
  args: string;
  result?: Content;
  /** How far it says it is, while it runs: from 0 to 1, if it knows, and what it does now. */
  progress?: { fraction: number | null; message: string | null };
}

/** A message, with the calls that it asks for. */
export interface Message {
  id: string;
  role: Role;
  content: Content;
  calls: Call[];
  /** Whether more of it is to come. */
  isOpen: boolean;
  /** The server stopped while it came: the answer was asked for again. */
  isCut?: boolean;
}

/** A question to the user. */
export interface Question {
  id: string;
  /** `tool_call` asks whether a tool may run, `input_required` what a running one wants to know. */
  reason?: string;
  message?: string;
  toolCallId?: string;
  /** The JSON Schema of the answer. */
  responseSchema?: unknown;
  expiresAt?: string;
}

/** Whether a running tool asks it. */
export function isOfRunningTool(question: Question): boolean {
  return question.reason === "input_required" && question.toolCallId !== undefined;
}

export interface TurnError {
  code: string;
  message: string;
}

/** The part of the conversation that the model is no longer sent as it is. */
export interface CompactionState {
  /** The last message that is left out. */
  through?: string;
  /** The messages before it that are still sent. */
  kept?: string[];
  summary?: string;
  /** The last result of a tool that is left out. */
  resultsThrough?: string;
  /** The answer with which the provider compacted the conversation itself. */
  byProvider?: string;
  /** The compaction before was taken away. */
  undone?: boolean;
}

/** A compaction at its place in the conversation. */
export interface Compaction extends CompactionState {
  /** The message before it, if one of the turn is. */
  after: string | null;
}

/** Returns what a compaction did, next to the one before it. */
export function titleOf(compaction: Compaction, before?: Compaction): string {
  const isNew = (field: "through" | "resultsThrough" | "byProvider"): boolean => compaction[field] !== undefined && compaction[field] !== before?.[field];
  if (isNew("byProvider")) return "The provider compacted the conversation";
  if (isNew("through")) return compaction.summary === undefined ? "Earlier messages are left out" : "Earlier messages are now a summary";
  return "Old results of tools are left out";
}

/** Before which of these messages a compaction is shown. */
export function placeAmong(messages: Message[], { after, byProvider }: Compaction): number {
  const made = messages.findIndex(({ id }) => id === byProvider);
  return made >= 0 ? made : messages.findIndex(({ id }) => id === after) + 1;
}

/** What the user said, and all that came of it. */
export interface Turn {
  id: string;
  parent: string | null;
  status: "streaming" | "complete" | "failed" | "cancelled";
  createdAt: number;
  messages: Message[];
  questions: Question[];
  /** Where the conversation was compacted, or a compaction was undone. */
  compactions: Compaction[];
  /** Why it did not end well, or at a limit. */
  error?: TurnError;
  /** What it waits for, until its next event. */
  waiting?: string;
}

/** The turns of a session, the oldest first. */
export function turnsOf(view: View): Turn[] {
  const turns = view.turns.map((turn): Turn => {
    const shown: Turn = {
      id: turn.id,
      parent: turn.parent ?? null,
      status: turn.status,
      createdAt: turn.created_at,
      messages: [],
      questions: [],
      compactions: (turn.compactions ?? []).map((compaction) => ({ ...compaction, after: compaction.after ?? null })),
    };
    const error = turn.error ?? turn.limit;
    if (error) shown.error = error;
    return shown;
  });
  const byId = new Map(turns.map((turn) => [turn.id, turn]));
  for (const message of view.messages) {
    const turn = byId.get(message.turn ?? "") ?? turns[0];
    turn?.messages.push({
      id: message.id,
      ...(message.activity ? activity(message.activity) : { role: message.role, content: message.content }),
      calls: (message.tool_executions ?? []).map((call) => ({
        id: call.tool_id,
        name: call.tool_name,
        label: call.label,
        status: call.status,
        args: typeof call.args === "string" ? call.args : JSON.stringify(call.args),
        ...(call.result === undefined ? {} : { result: call.result }),
      })),
      isOpen: false,
      ...(message.cut && { isCut: true }),
    });
  }
  return turns;
}

/** What an agent shows of its work, as text; media that the model made are its answer. */
export function activity({ activity_type, content }: { activity_type: string; content: unknown }): Pick<Message, "role" | "content"> {
  const parts = (content as { parts?: ContentPart[] } | null)?.parts;
  if (activity_type === "media" && Array.isArray(parts)) return { role: "assistant", content: parts };
  return { role: "activity", content: `${activity_type}: ${JSON.stringify(content)}` };
}

/** The text of a content, without what is no text. */
export function textOf(content: Content): string {
  if (typeof content === "string") return content;
  return content.map((part) => part.text ?? "").filter(Boolean).join("\n");
}

/** A text file that goes with a message: a text part of its own, which the model reads as it stands. */
export interface TextFile {
  name: string;
  text: string;
}

/** Returns the text part of a text file: its name and, between fences, what is in it. */
export function filePart({ name, text }: TextFile): ContentPart {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return { type: "text", text: `${name}:\n${fence}\n${text.replace(/\n$/, "")}\n${fence}` };
}

/** Returns the text file that a part is, as `filePart` writes it; null if it is none. */
export function fileOf({ text }: ContentPart): TextFile | null {
  const found = text === undefined ? null : /^([^\n]{1,300}):\n(`{3,})\n([^]*)\n\2$/.exec(text);
  return found && { name: found[1]!, text: found[3]! };
}

/** Returns what the user wrote themselves, without what goes with it. */
export function saidIn(content: Content): string {
  return typeof content === "string" ? content : textOf(content.filter((part) => fileOf(part) === null));
}

/** Returns the content with another text: what goes with it stays. */
export function withText(content: Content, text: string): Content {
  if (typeof content === "string") return text;
  return [...(text === "" ? [] : [{ type: "text", text }]), ...content.filter((part) => part.text === undefined || fileOf(part) !== null)];
}

/** Pictures that cannot hold a script. */
const PICTURES = /^image\/(?:png|jpeg|gif|webp|avif)$/;

/** The address of a picture that is whole, and can be shown. */
export function pictureOf({ source }: ContentPart): string | null {
  if (source?.type !== "data" || !PICTURES.test(source.mimeType ?? "")) return null;
  return `data:${source.mimeType};base64,${source.value}`;
}

/** The address of a sound that is whole, and can be played. */
export function soundOf({ type, source }: ContentPart): string | null {
  if (type !== "audio" || source?.type !== "data" || !/^audio\/[\w.+-]+$/.test(source.mimeType ?? "")) return null;
  return `data:${source.mimeType};base64,${source.value}`;
}

export function isFinal(status: CallStatus): boolean {
  return status === "completed" || status === "failed" || status === "denied" || status === "cancelled";
}

const LIMITS = [
  "max_tool_rounds",
  "max_tool_calls",
  "max_tokens",
  "max_duration",
  "no_progress",
  "max_answer_bytes",
  "max_answer_calls",
];

/** Whether the turn was ended by a limit that its server sets. */
export function isLimit(error: TurnError): boolean {
  return LIMITS.includes(error.code);
}
