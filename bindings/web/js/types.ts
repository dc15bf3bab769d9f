// The types that are not those of the library's own shapes.

import type { KnownProvider } from "./model.js";

export type * from "./shapes.js";

/** Any JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** The name of a provider: one that Stepwell knows, or a custom one of `providers`. */
export type Provider = KnownProvider | (string & {});

/** What happens to a turn that begins while another turn of its conversation is under way. */
export type WhenBusy =
  /** The new turn fails at once with an error of the kind `busy`, and the other one continues. */
  | "error"
  /** The other turn is cancelled, and the new one continues from where it stopped. */
  | "cancel"
  /** The new turn begins when the other one is over. */
  | "queue"
  /**
   * The message goes to the other turn, which answers it, and whose result is that of the new turn too. If the other
   * turn ends before it takes the message, or is in another page, the new turn begins when it is over.
   */
  | "steer";

/** The optional fields of every AG-UI message. Fields that are not named here are kept, too. */
interface MessageFields {
  id: string;
  name?: string;
  /** Data that the provider attached, for itself alone. */
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

/** The result of a tool call. */
export interface ToolMessage extends MessageFields {
  role: "tool";
  toolCallId: string;
  content: string | Part[];
  /** The error, if the call failed. */
  error?: string;
}

/** A message of the app to the model. */
export interface SystemMessage extends MessageFields {
  role: "system" | "developer";
  content: string;
}

/** The model's reasoning, as far as its provider shows it. */
export interface ReasoningMessage extends MessageFields {
  role: "reasoning";
  content: string;
}

/** An agent's report of its work. */
export interface ActivityMessage extends MessageFields {
  role: "activity";
  activityType: string;
  content: { [name: string]: any };
}

/** An AG-UI message, tagged by its `role`. */
export type Message = UserMessage | AssistantMessage | ToolMessage | SystemMessage | ReasoningMessage | ActivityMessage;

/** The kind of media of a part. */
export type MediaKind = "image" | "audio" | "video" | "document";

/** The location of media: in the message, in base64; at an address; in a provider's store, by their id there. */
export type MediaSource =
  | { type: "data"; value: string; mimeType: string }
  | { type: "url"; value: string; mimeType?: string }
  | { type: "file"; value: string; provider?: string; mimeType?: string };

/** A part of a user's message, or of a tool's result, in AG-UI's form. */
export type Part = { type: "text"; text: string } | { type: MediaKind; source: MediaSource; metadata?: Json };
