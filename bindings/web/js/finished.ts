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

/** A turn whose answer is not whole: what is wrong, and what to do. */
export class TurnError extends Error {
  override name = "TurnError";

  constructor(
    readonly problem: Problem,
    /** The turn as it ended: what was said so far stands. */
    readonly finished: Finished,
  ) {
    super(`${problem.message}; ${problem.advice}`);
  }
}
