// A turn that is over.

import type { Json, Message, Outcome, Problem, TokenUsage } from "./types.js";

/** A turn that is over. */
export interface Finished {
  /** How the turn ended. */
  outcome: Outcome;
  /** All that the model said in the turn. */
  text: string;
  /** The conversation after the turn: AG-UI messages, oldest first. */
  messages: Message[];
  /** What the turn cost, over all its hops. */
  usage: TokenUsage;
  /** How many streams the turn took. */
  hops: number;
  /** The typed answer; absent if none was asked for, or the turn has not succeeded. */
  output?: Json;
}

/**
 * A turn whose answer is incomplete: what is wrong, and what to do. Only `finished` holds the conversation: no message
 * and no log does.
 */
export class TurnError extends Error {
  override name = "TurnError";
  // Hidden from logs and error trackers, which would print it: it holds the conversation.
  readonly #finished: Finished;

  constructor(
    readonly problem: Problem,
    finished: Finished,
  ) {
    super(`${problem.message}; ${problem.advice}`);
    this.#finished = finished;
  }

  /** The turn as it ended, with what was said so far. */
  get finished(): Finished {
    return this.#finished;
  }
}
