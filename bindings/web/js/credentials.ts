// The app's code for the key of each request, and for the instructions of each turn.

import { words } from "./error.js";
import type { Setup } from "./setup.js";
import type { Message, ModelName, ThreadKey } from "./types.js";


/** The request that credentials are asked for. */
export interface CredentialRequest {
  /** The conversation. */
  threadId: string;
  /** The turn: the run id of its first hop. */
  turn: string;
  /** The model that is asked: the agent's own, or one of its `fallback`. */
  model: ModelName;
  /** Whether the provider refused the last credentials with a 401: get new ones, not those of a cache. */
  rejected: boolean;
}

/** The key and the headers of one request. They are in no snapshot and no journal. */
export interface Authorization {
  /** The key, instead of the agent's. */
  key?: string;
  /** Additional headers, which replace the agent's of the same names. */
  headers?: { [name: string]: string };
}

/**
 * Returns the key, or a key and headers, of each request, for tokens that expire. It is called before each request, so
 * it should cache what is still valid. An exception fails the turn.
 */
export type CredentialSource = (
  request: CredentialRequest,
  context: { signal: AbortSignal },
) => string | Authorization | Promise<string | Authorization>;

/** The turn that instructions are made for. */
export interface InstructionsRequest {
  /** The conversation's key. */
  thread: Required<ThreadKey>;
  /** The turn: the run id of its first hop. */
  turn: string;
  /** What the user says; absent where the turn continues from a history. */
  message?: Message;
  /** The conversation before that message: AG-UI messages, oldest first. */
  messages: Message[];
}

/** Makes the instructions of a turn, before its first request. An exception fails the turn. */
export type InstructionsSource<Deps = unknown> = (
  request: InstructionsRequest,
  context: { signal: AbortSignal; deps: Deps },
) => string | Promise<string>;

/** The instructions of a turn could not be made. @internal */
export class NoInstructions extends Error {}

/** The time limit of a tool, unless the agent sets another. */
const LONGEST = 300_000;

/** The result of the app; nothing if the turn is stopped meanwhile. @internal */
export async function instructions(source: InstructionsSource<any>, request: InstructionsRequest, { clock, config, deps }: Setup, signal: AbortSignal): Promise<string | undefined> {
  const controller = new AbortController();
  const longest = config.timeouts?.toolMs === undefined ? LONGEST : config.timeouts.toolMs;
  let timer: unknown;
  const late = new Promise<never>((_, reject) => {
    if (longest !== null) timer = clock.setTimeout(() => reject(new Error("the app took too long")), longest);
  });
  const stopped = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { signal: controller.signal });
  });
  try {
    const made = Promise.resolve().then(() => source(request, { signal: controller.signal, deps }));
    return await Promise.race([made, late, stopped]);
  } catch (error) {
    throw new NoInstructions(words(error));
  } finally {
    clock.clearTimeout(timer);
    controller.abort();
  }
}
