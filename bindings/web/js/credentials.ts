// The app's code for the key of each request, and for the instructions of each turn.

import type { Setup } from "./setup.js";
import type { Message, ThreadKey } from "./types.js";
import { words } from "./tools.js";

/** For which request credentials are asked for. */
export interface CredentialRequest {
  /** The conversation. */
  threadId: string;
  /** The turn: the run id of its first hop. */
  turn: string;
  /** The provider has refused what was given last, with a 401: it is to be got anew, not taken from a cache. */
  rejected: boolean;
}

/** What one request is sent with. It is in no snapshot and no journal. */
export interface Authorization {
  /** The key, in the place of the agent's. */
  key?: string;
  /** Headers to send besides, in the place of the agent's of their names. */
  headers?: { [name: string]: string };
}

/**
 * Gives the key, or a key and headers, of each request: for tokens that expire. It is asked before each request, so it keeps
 * what it got as long as that is good. What it throws is what the turn fails with.
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
  /** What the user says; absent where the turn goes on from a history. */
  message?: Message;
  /** What was said before it: AG-UI messages, oldest first. */
  messages: Message[];
}

/** Makes the instructions of a turn, before its first request. What it throws is what the turn fails with. */
export type InstructionsSource = (request: InstructionsRequest, context: { signal: AbortSignal }) => string | Promise<string>;

/** The instructions of a turn could not be made. @internal */
export class NoInstructions extends Error {}

/** As long as a tool may take, if the agent does not say otherwise. */
const LONGEST = 300_000;

/** What the app makes; nothing where the turn is stopped meanwhile. @internal */
export async function instructions(source: InstructionsSource, request: InstructionsRequest, { clock, config }: Setup, signal: AbortSignal): Promise<string | undefined> {
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
    const made = Promise.resolve().then(() => source(request, { signal: controller.signal }));
    return await Promise.race([made, late, stopped]);
  } catch (error) {
    throw new NoInstructions(words(error));
  } finally {
    clock.clearTimeout(timer);
    controller.abort();
  }
}
