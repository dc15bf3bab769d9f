// The types that are not those of a shape of the library's own.

export type * from "./shapes.js";

/** Any JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** The name of a provider: one that Stepwell knows, or one of `providers`, the app's own. */
export type Provider =
  | "ag-ui"
  | "anthropic"
  | "cohere"
  | "fireworks"
  | "gemini"
  | "groq"
  | "mistral"
  | "nvidia"
  | "ollama"
  | "openai"
  | "openai-compatible"
  | "openrouter"
  | "together"
  | (string & {});

/** What every AG-UI message may have. Fields that are not named here are kept, too. */
interface MessageFields {
  id: string;
  name?: string;
  /** What the provider attached to it, for it alone. */
  encryptedValue?: string;
  metadata?: { [name: string]: Json };
}

/** What the user said. */
export interface UserMessage extends MessageFields {
  role: "user";
  content: string | Part[];
}

/** What the model said, and the calls that it asks for. */
export interface AssistantMessage extends MessageFields {
  role: "assistant";
  content?: string;
  toolCalls?: { id: string; type: "function"; function: { name: string; arguments: string }; encryptedValue?: string }[];
}

/** What came of a tool call. */
export interface ToolMessage extends MessageFields {
  role: "tool";
  toolCallId: string;
  content: string | Part[];
  /** What went wrong, if the call failed. */
  error?: string;
}

/** What the app tells the model. */
export interface SystemMessage extends MessageFields {
  role: "system" | "developer";
  content: string;
}

/** What the model thought, as far as its provider shows it. */
export interface ReasoningMessage extends MessageFields {
  role: "reasoning";
  content: string;
}

/** What an agent shows of its work. */
export interface ActivityMessage extends MessageFields {
  role: "activity";
  activityType: string;
  content: { [name: string]: any };
}

/** An AG-UI message, tagged by its `role`. */
export type Message = UserMessage | AssistantMessage | ToolMessage | SystemMessage | ReasoningMessage | ActivityMessage;

/** What kind of media a part is. */
export type MediaKind = "image" | "audio" | "video" | "document";

/** Where media are: in the message, in base64; at an address; in a provider's store, by the id that they have there. */
export type MediaSource =
  | { type: "data"; value: string; mimeType: string }
  | { type: "url"; value: string; mimeType?: string }
  | { type: "file"; value: string; provider?: string; mimeType?: string };

/** A part of what the user says, or of what a tool gives back, as AG-UI has it. */
export type Part = { type: "text"; text: string } | { type: MediaKind; source: MediaSource; metadata?: Json };

/**
 * What is thrown when a call cannot be done; its message is the reason and the advice. What goes wrong within a turn is no
 * error: it is the turn's outcome.
 */
export interface StepwellError extends Error {
  name: "StepwellError";
  kind: "configuration" | "invalidArgument" | "misuse" | "snapshot" | "stale" | "store";
  /** What went wrong. */
  reason: string;
  /** What to do about it. */
  advice: string;
}
