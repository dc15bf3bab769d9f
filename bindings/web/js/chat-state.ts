// What a chat screen shows: the shapes of the core's `ChatState`, the same in every language.

import type { ErrorKind } from "./error.js";
import type { Interrupt, Json, Part, Pending, TokenUsage, ToolCallStatus } from "./types.js";

/** The contents of a chat screen. A reload from the store gives the state that was shown live. */
export interface ChatState {
  /** Grows with each change of the state. */
  readonly revision: number;
  readonly status: ChatStatus;
  readonly connection: ChatConnection;
  /** Why the last turn failed. A new turn clears the problem, and a cancelled turn has none. */
  readonly problem?: ChatProblem;
  /** What waits for the user or for a deferred result, in the order of the calls. */
  readonly pending: readonly Pending[];
  /** The questions of an AG-UI agent, which gets all answers at once. */
  readonly interrupts: readonly Interrupt[];
  /** The usage of the last turn so far. */
  readonly usage: TokenUsage;
  /** How many earlier messages `messages` leaves out: it has the last 1,000. */
  readonly omittedMessages: number;
  /**
   * The part of the conversation that the model is no longer sent as it is: up to the message `through`, with a summary, or
   * all before the answer `byProvider`, in which the provider compacted the conversation itself.
   */
  readonly compaction?: { readonly through?: string; readonly summary?: string; readonly byProvider?: string };
  /** The messages, the oldest first. A message that has not changed is the same object as before. */
  readonly messages: readonly ChatMessage[];
}

/** The status of a chat: that of the AI SDK's `useChat`, and one more for a turn that waits for the user. */
export type ChatStatus =
  /** No turn is under way, and the last one did not fail. */
  | "ready"
  /** The message was sent, and nothing of the answer has arrived. */
  | "submitted"
  /** The answer streams, or its tools run. */
  | "streaming"
  /** The turn needs the user: an approval, or the answer to a question. */
  | "waitingForUser"
  /** No turn is under way, and the last one failed: see `problem`. */
  | "error";

/** The state of the connection to the model or the agent. Times are in milliseconds since the epoch. */
export type ChatConnection =
  /** No stream is open: no turn is under way, or its tools run, or the turn waits. */
  | { readonly state: "idle" }
  /** A request was sent, and its stream has not begun. */
  | { readonly state: "connecting" }
  | { readonly state: "streaming" }
  /** A request failed, and is sent again. */
  | { readonly state: "waitingToRetry"; readonly attempt: number; readonly at: number; readonly reason: string }
  /** There is no network: the request waits for it. */
  | { readonly state: "offline"; readonly until: number }
  /** The turn continues where it stopped: its stream broke off, or its page was closed. */
  | { readonly state: "resuming" };

/** Why the last turn failed. */
export interface ChatProblem {
  readonly kind: ErrorKind;
  readonly message: string;
  readonly advice: string;
  /** Whether the same message may succeed another time. */
  readonly retryable: boolean;
  /** The HTTP status of the provider's answer, if it answered with an error. */
  readonly status?: number;
}

/** A message. What the model and its tools do between two messages of the user is one message. */
export interface ChatMessage {
  /** Unique in the state: a key for lists. */
  readonly id: string;
  /** The revision of the state with the last change of the message. */
  readonly revision: number;
  readonly turn?: string;
  readonly role: "user" | "assistant";
  /** Whether the turn under way may still change the message. */
  readonly streaming: boolean;
  /** Whether the answer was cut because its page was closed. The next message begins the answer again. */
  readonly cut: boolean;
  /** The start of the turn, in milliseconds since the epoch. */
  readonly timestamp: number;
  /** The parts, in order. */
  readonly parts: readonly ChatPart[];
}

/** A part of a message. */
export type ChatPart =
  | { readonly type: "text"; readonly text: string }
  /** The model's reasoning, as far as its provider shows it. */
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "tool"; readonly card: ToolCard }
  /** An image, audio, a video or a document. */
  | { readonly type: "media"; readonly media: Part }
  /** An agent's view of its work. */
  | { readonly type: "activity"; readonly activityType: string; readonly content: { readonly [name: string]: Json } };

/** A tool call. */
export interface ToolCard {
  readonly toolCallId: string;
  readonly name: string;
  readonly label: string;
  readonly status: ToolCallStatus;
  /** The arguments: while they stream, the part that is certain; a text if the model did not write JSON. */
  readonly arguments: Json;
  /** What the running tool reported last; `fraction` is from 0 to 1. */
  readonly progress?: { readonly fraction?: number; readonly message?: string };
  /** The result so far that the running tool showed last. */
  readonly partialResult?: string | readonly Part[];
  /** The result, once the call is completed. */
  readonly result?: string | readonly Part[];
  /** Why there is no result, once the call failed, was denied or was cancelled. */
  readonly failure?: string;
}

/** The state of a chat without messages. */
export const EMPTY_CHAT: ChatState = { revision: 0, status: "ready", connection: { state: "idle" }, pending: [], interrupts: [], usage: {}, omittedMessages: 0, messages: [] };
