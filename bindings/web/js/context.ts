// The app's code for what an agent alone cannot do: runs that a backend creates, and conversations that are too long.

import { newestMessages } from "./session.js";
import type { ContextMessage, HopContext, Message } from "./types.js";

/** A run that a backend should create. */
export interface NewRun {
  /** The thread of the run. */
  threadId: string;
  /** The run that the new run continues; absent for the first of a thread. */
  parentRunId?: string;
}

/** Creates a run, and returns its id. An exception fails the turn. */
export type RunSource = (run: NewRun, context: { signal: AbortSignal }) => string | Promise<string>;

/** Chooses the model of a hop, and returns its number. */
export type ModelChooser = (hop: HopContext, context: { signal: AbortSignal }) => number | Promise<number>;

/** A conversation that does not fit the model's context window. */
export class ContextOverflow {
  constructor(
    /** How many tokens the next request would take, the instructions and the tools included. */
    readonly tokens: number,
    /** The number of tokens that the request may take: the model's window, without what is reserved for the answer. */
    readonly window: number,
    /** The messages of the request, oldest first. */
    readonly messages: ContextMessage[],
  ) {}

  /**
   * The ids of the newest messages that fill no more than this part of the room: half of it (0.5) leaves room to
   * continue for a while. Return them unchanged: what belongs to them is kept with them.
   */
  newest(part: number): string[] {
    return newestMessages(this, part);
  }
}

/** What is kept of a conversation, and the summary of the rest. */
export interface Trimmed {
  /**
   * The ids of the messages that are kept. Messages that belong to them are kept with them: a call with its results,
   * and the reasoning before them; so are the last question and the last message.
   */
  keep: string[];
  /** The text for the model instead of the other messages. */
  summary?: string;
}

/**
 * Shortens a conversation: from the overflow, and its messages, it returns what is kept. The turn fails if that is
 * nothing, or after an exception.
 */
export type Trimmer = (
  overflow: ContextOverflow,
  messages: Message[],
  context: { signal: AbortSignal },
) => string[] | Trimmed | undefined | Promise<string[] | Trimmed | undefined>;
