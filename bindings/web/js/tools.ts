// The app's code: tools, and whoever asks the user about them.

import type { Json, ToolDefinition, ToolInvocation } from "./stepwell.js";

/** What a tool's code is told beside the arguments. */
export interface ToolContext {
  /** Is aborted when the result is no longer wanted: the turn was cancelled, or the tool took too long. */
  signal: AbortSignal;
  /** The call. */
  invocation: ToolInvocation;
}

/**
 * A tool with its code. The model is shown what `execute` gives: text as it is, `Parts` as they are, anything else as JSON,
 * nothing as `null`. What it throws is this tool's own: the model is told, and the turn goes on. Arguments fit `parameters`
 * before it is called.
 */
export interface Tool extends ToolDefinition {
  execute(args: any, context: ToolContext): unknown;
}

/** What a tool throws to tell the model why it could not do its work. */
export class ToolError extends Error {
  override name = "ToolError";
}

/** What a tool throws that has begun something whose result comes later, in minutes or days, by `Turn.finishCall`. */
export class Deferred extends Error {
  override name = "Deferred";
}

/** A tool's result that is more than text: AG-UI content parts, such as pictures. */
export class Parts {
  constructor(readonly parts: Json[]) {}
}

/**
 * What the user says to a tool that asks to run: `true`, `false`, or a reason why not, for the model to read; or the
 * arguments to run it with, in the place of the model's. Arguments that do not fit the tool count as no.
 */
export type Decision = boolean | string | { [name: string]: Json };

/** Asks the user whether a tool may run. */
export type Approver = (invocation: ToolInvocation, context: { signal: AbortSignal }) => Decision | Promise<Decision>;

/** What the model is shown of a result. */
export function shown(result: unknown): string | Json[] {
  if (result instanceof Parts) return result.parts;
  return typeof result === "string" ? result : (JSON.stringify(result) ?? "null");
}

/** The words of whatever was thrown. */
export function words(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
