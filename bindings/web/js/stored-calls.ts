// Calls about stored turns: apart from the others, since they are loaded where there is a store.

import { ask } from "./session.js";
import type { Compaction, Json, Message, Pending, TurnRecord } from "./types.js";

/**
 * The conversation of stored turns, for the next run to begin with: of all turns of a thread, or of a path of it.
 * `turn` is the end of the path; without it, the turn that ends last. `compaction` is what requests no longer carry.
 */
export function conversationOf(turns: TurnRecord[], turn?: string | null): { messages: Message[]; sharedState: Json; compaction?: Compaction | null } {
  return ask("transcript", { turns, turn });
}

/** What a stored turn waits for; nothing if it is over. */
export function pendingOf(turn: TurnRecord): Pending[] {
  return ask("pending", { turn });
}

/** The title of a thread: the user's first words, in one line; empty if there are none. */
export function titleOf(messages: Message[]): string {
  return ask("title", { messages });
}
