// A turn that is over.

import type { Json, Message, Outcome, Problem, TokenUsage } from "./types.js";

/** A turn that is over. */
export interface Finished {
  /** How it ended. */
  outcome: Outcome;
  /** All that the model said in it. */
  text: string;
  /** The conversation after it: AG-UI messages, oldest first. */
  messages: Message[];
  /** What it cost, over all its hops. */
  usage: TokenUsage;
  /** How many streams it took. */
  hops: number;
  /** The typed answer; absent if there was to be none, or the turn has not ended well. */
  output?: Json;
}

/** A turn whose answer is not whole: what is wrong, and what to do. What was said is in `finished` alone: in no message and no log. */
export class TurnError extends Error {
  override name = "TurnError";
  // No property that logs and error trackers would print: it has the conversation.
  readonly #finished: Finished;

  constructor(
    readonly problem: Problem,
    finished: Finished,
  ) {
    super(`${problem.message}; ${problem.advice}`);
    this.#finished = finished;
  }

  /** The turn as it ended: what was said so far stands. */
  get finished(): Finished {
    return this.#finished;
  }
}
