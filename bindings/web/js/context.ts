// The app's code for what an agent alone cannot do: runs that a backend creates, conversations that are too long.

import { newestMessages } from "./session.js";
import type { ContextMessage, Json, Message } from "./types.js";

/** A run that a backend is to create. */
export interface NewRun {
  /** The thread that it is of. */
  threadId: string;
  /** The run that it continues; a thread's first has none. */
  parentRunId?: string;
}

/** Creates a run, and gives its id. What it throws is what the turn fails with. */
export type RunSource = (run: NewRun, context: { signal: AbortSignal }) => string | Promise<string>;

/** A conversation that does not fit the model's context window. */
export class ContextOverflow {
  constructor(
    /** How many tokens the next request would take, the instructions and the tools included. */
    readonly tokens: number,
    /** How many it may take: the model's window, without what is kept for the answer. */
    readonly window: number,
    /** The messages of the request, oldest first. */
    readonly messages: ContextMessage[],
  ) {}

  /**
   * The ids of the newest messages that fill no more than this part of the room: half of it (0.5) leaves room to go on for a
   * while. To be given back as they are: what belongs to them is kept with them.
   */
  newest(part: number): string[] {
    return newestMessages(this, part);
  }
}

/** What is kept of a conversation, and what stands for the rest. */
export interface Trimmed {
  /**
   * The ids of the messages that are kept. What belongs to them is kept with them: a call with its results, and the reasoning
   * before them; so are the last question and the last message.
   */
  keep: string[];
  /** What the model is told in the place of the others. */
  summary?: string;
}

/**
 * Shortens a conversation: from what does not fit, and its messages, it gives what is kept. The turn fails where that is
 * nothing, or it throws.
 */
export type Trimmer = (
  overflow: ContextOverflow,
  messages: Message[],
  context: { signal: AbortSignal },
) => string[] | Trimmed | undefined | Promise<string[] | Trimmed | undefined>;

/**
 * Decodes a typed answer, which fits its schema, into the app's own type. What it throws is what the model is told that does
 * not fit: the answer is asked for again.
 */
export type OutputDecoder = (value: Json, context: { signal: AbortSignal }) => unknown;
