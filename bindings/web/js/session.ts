// Calls without a run.

import { answered, made, written } from "./module.js";
import { mediaPart as partOf, session } from "./stepwell.js";
import type { ContextMessage, MediaKind, Outcome, Part } from "./types.js";

/** @internal */
export const ask = <T>(call: string, fields: object): T =>
  made(() => answered<{ answer: T }>(session(written("the call", { call, ...fields }))).answer);

/** The ids of the newest messages of a conversation that fill no more than this part of the model's window. */
export function newestMessages(overflow: { tokens: number; window: number; messages: ContextMessage[] }, part: number): string[] {
  const { tokens, window, messages } = overflow;
  return ask("newest", { overflow: { tokens, window, messages }, part });
}

/** The outcome of a turn that its store did not take. */
export function notStored(message: string): Outcome {
  return ask("notStored", { message });
}

/** The outcome of a turn whose instructions could not be made. */
export function noInstructions(message: string): Outcome {
  return ask("noInstructions", { message });
}

/** The outcome of a turn that ended because a tool is broken. */
export function toolFailed(tool: string, message: string): Outcome {
  return ask("toolFailed", { tool, message });
}

/** The outcome of a turn that began while another turn of its thread was under way. */
export function busy(): Outcome {
  return ask("busy", {});
}

/** A content part of media: from the bytes, or from the source in `of`. */
export function mediaPart(
  of: { kind?: MediaKind; url?: string; file?: string; provider?: string; mediaType?: string; name?: string },
  bytes?: Uint8Array,
): Part {
  return made(() => answered<{ answer: Part }>(partOf(written("the part", of), bytes)).answer);
}
