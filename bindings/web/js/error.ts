// The one error of the package: what a turn, a call or a store can end with.

import type { TurnResult } from "./result.js";
import type { Problem } from "./types.js";

/** The kind of an error, for an app to act on: the same names in every language. */
export type ErrorKind = Problem["kind"];

/** Why the library refused a call, for an error of the kind `misuse`. */
export type MisuseCode = "configuration" | "invalidArgument" | "snapshot" | "stale";

/** What an error knows in addition to its kind, message and advice. */
export interface ErrorDetails {
  /** The precise reason within the kind, if there is one. */
  code?: string | undefined;
  /** The provider that the turn asked last. */
  provider?: string | undefined;
  /** The name of the model that the turn asked last. */
  model?: string | undefined;
  /** The HTTP status of the provider's answer. */
  status?: number | undefined;
  /** Whether the same call may succeed another time. */
  retryable?: boolean | undefined;
  /** What there is of the turn. */
  result?: TurnResult<unknown> | undefined;
  /** The error that this one comes from. */
  cause?: unknown;
}

/** The names that the web's own APIs have for these kinds. */
const NAMES: { [kind in ErrorKind]?: string } = { cancelled: "AbortError", timeout: "TimeoutError" };

/**
 * What went wrong, and what to do about it. A turn whose answer is incomplete throws it, also if it was cancelled; so
 * does a call that cannot work, and a store. Only `result` holds the conversation: no message and no log does.
 */
export class StepwellError extends Error {
  /** The kind, for the app to act on. */
  declare readonly kind: ErrorKind;
  /** What to do about it. */
  declare readonly advice: string;
  /** Whether the same call may succeed another time. */
  declare readonly retryable: boolean;
  /** The precise reason within the kind: a `MisuseCode`, or a `StoreErrorCode`. */
  declare readonly code?: string;
  /** The provider that the turn asked last; absent if the turn had not begun. */
  declare readonly provider?: string;
  /** The name of the model that the turn asked last; absent if the turn had not begun. */
  declare readonly model?: string;
  /** The HTTP status of the provider's answer, if it answered with an error. */
  declare readonly status?: number;
  // Hidden from logs and error trackers, which would print it: it holds the conversation.
  readonly #result: TurnResult<unknown> | undefined;

  constructor(kind: ErrorKind, message: string, advice: string, { result, retryable = false, cause, ...details }: ErrorDetails = {}) {
    super(message, cause === undefined ? {} : { cause });
    this.name = NAMES[kind] ?? "StepwellError";
    const known = Object.entries(details).filter(([, detail]) => detail !== undefined);
    Object.assign(this, { kind, advice, retryable, ...Object.fromEntries(known) });
    this.#result = result;
  }

  /** What there is of the turn, without an `output`; absent if the turn had not begun. */
  get result(): TurnResult<unknown> | undefined {
    return this.#result;
  }

  /** The message and the advice. */
  override toString(): string {
    return `${this.name}: ${this.message}; ${this.advice}`;
  }
}

/** A call that does not fit the current state. */
export const misuse = (message: string, advice: string): StepwellError => new StepwellError("misuse", message, advice);

/** A reply that nothing waits for. */
export const nothingWaits = (): StepwellError => misuse("nothing waits for this reply", "take the `id` of an entry of `pending`");

/** An invalid argument: types do not protect an app in JavaScript. */
export const wrong = (message: string, advice: string): StepwellError => new StepwellError("misuse", message, advice, { code: "invalidArgument" });

/** Returns an option that is one of these words, and throws if it is another. */
export function oneOf<Word extends string>(option: string, given: Word, words: readonly Word[]): Word {
  if (words.includes(given)) return given;
  throw wrong(`\`${option}\` is \`${given}\``, `give one of these: ${words.join(", ")}`);
}

/** A configuration that does not work. */
export const unfit = (message: string, advice: string): StepwellError => new StepwellError("misuse", message, advice, { code: "configuration" });

/** The message of any thrown value. */
export function words(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
