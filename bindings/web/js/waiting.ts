// A turn that waits: for its store, or for another turn.

import type { Ended } from "./result.js";
import type { StoreError } from "./store.js";

/** The reports for a turn that waits for its store, and the signal that it is no longer wanted. @internal */
export interface Waiting {
  warn(message: string): void;
  /** Reports what delays the writes now, if anything does. */
  trouble(error: StoreError | undefined): void;
  signal: AbortSignal;
}

/** Another turn of the thread is under way, and should not be cancelled. @internal */
export class Busy extends Error {}

/** The turn's message was answered in another turn, whose end this is. @internal */
export class Steered extends Error {
  constructor(readonly end: Ended) {
    super();
  }
}

/** The turn was cancelled while it waited for another turn of its thread. @internal */
export class Stopped extends Error {}

/** Resolves when the signal aborts. @internal */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((abort) => {
    if (signal.aborted) abort();
    signal.addEventListener("abort", () => abort(), { once: true });
  });
