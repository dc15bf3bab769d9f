// What a turn comes to.

import type { Json, Message, Outcome, TokenUsage } from "./types.js";

/**
 * Why a turn ended: `success` for a complete answer; otherwise how the model's answer stopped short (`length`,
 * `contentFilter`, …), or the end of the turn: `limitReached`, `cancelled`, `truncated`, `failed`.
 */
export type StopReason = Exclude<Outcome["outcome"], "incomplete"> | Extract<Outcome, { outcome: "incomplete" }>["reason"];

/** A turn that is over: its answer, and the conversation after it. */
export interface TurnResult<T = string> {
  /** The answer, as a value of the type that was asked for; the text if none was. */
  output: T;
  /** The text of the model's last message. */
  text: string;
  /** All the text that was shown in the turn. */
  fullText: string;
  /** The conversation after the turn: AG-UI messages, oldest first. */
  messages: Message[];
  /** What the turn used, over all its hops. */
  usage: TokenUsage;
  /** What the turn cost, in US dollars; absent if no price is known. */
  cost?: number;
  /** Why the turn ended. */
  stopReason: StopReason;
  /** How many requests to the model the turn took. */
  hops: number;
}

/** The end of a turn, as its machine has it. @internal */
export interface Ended {
  outcome: Outcome;
  fullText: string;
  messages: Message[];
  usage: TokenUsage;
  hops: number;
  /** The typed answer, not decoded. */
  output?: Json;
  /** What a tool threw, if that ended the turn. */
  cause?: unknown;
}

/** The text of the last message of the model since the user's last one. */
function lastText(messages: readonly Message[]): string {
  for (const message of [...messages].reverse()) {
    if (message.role === "user") break;
    if (message.role === "assistant" && message.content) return message.content;
  }
  return "";
}

/** The result without its output. @internal */
export function resultOf({ outcome, fullText, messages, usage, hops }: Ended): Omit<TurnResult, "output"> {
  const stopReason = outcome.outcome === "incomplete" ? outcome.reason : outcome.outcome;
  const { cost } = usage;
  return { text: lastText(messages), fullText, messages, usage, ...(cost !== undefined && { cost }), stopReason, hops };
}
