// The app's code: tools, and whoever asks the user about them.

import { type Content, ContentPart, partsOf } from "./media.js";
import { wrong } from "./module.js";
import type { Json, Question, ToolDefinition, ToolInvocation, UserAnswer } from "./types.js";

/** What a tool's code is told beside the arguments. */
export interface ToolContext {
  /** Is aborted when the result is no longer wanted: the turn was cancelled, or the tool took too long. */
  signal: AbortSignal;
  /** The call: its id, the thread, the turn, the run and the attempt. */
  invocation: ToolInvocation;
  /** Says how far the call has come, from 0 to 1 if that is known, and what it does now: the event `toolProgress`. */
  report(fraction?: number, message?: string): void;
  /**
   * Shows what there is of the result so far, in the place of what was shown before: the event `toolPartialResult`. The model
   * is told the result alone. 256 KiB at most.
   */
  partial(result: unknown): void;
  /**
   * Asks the user, by the agent's `answerer`, and waits for the answer, which fits the question's schema; a text asks for a
   * text. The tool's own time stands still meanwhile. An idempotent tool that is run again after a crash and asks the same is
   * given the answer of before.
   */
  ask(question: Question | string): Promise<UserAnswer>;
}

/**
 * A tool with its code. The model is shown what `execute` gives: text as it is, media as what they are (`image` and the like,
 * an array with some, `Parts`), anything else as JSON, nothing as `null`. What it throws is this tool's own: the model is told, and the turn goes on. Arguments fit `parameters`
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

/** A tool's result that is more than text: texts and media, in order. */
export class Parts {
  readonly parts: Json[];

  constructor(parts: readonly (Content | Json)[]) {
    this.parts = partsOf(parts as readonly Content[]);
  }
}

/**
 * What the user says to a tool that asks to run: `true`, `false`, or a reason why not, for the model to read; or the
 * arguments to run it with, in the place of the model's. Arguments that do not fit the tool count as no.
 */
export type Decision = boolean | string | { [name: string]: Json };

/** Asks the user whether a tool may run. */
export type Approver = (invocation: ToolInvocation, context: { signal: AbortSignal }) => Decision | Promise<Decision>;

/**
 * Asks the user what a running tool wants to know: gives the answer, which fits `question.schema`, or `undefined` if there is
 * none.
 */
export type Answerer = (question: Question, context: { signal: AbortSignal; invocation: ToolInvocation }) => Json | undefined | Promise<Json | undefined>;

/** The tools, by the names that the model calls them by. Throws where one has no code. @internal */
export function toolsByName(tools: readonly Tool[]): Map<string, Tool> {
  if (!Array.isArray(tools)) throw wrong("`tools` is no array", "give an array of tools, with their code");
  tools.forEach((tool: Partial<Tool> | null | undefined, at) => {
    if (typeof tool?.execute !== "function") throw wrong(`\`tools[${at}]\` has no code`, "give it an `execute`, a function");
  });
  return new Map(tools.map((tool) => [tool.name, tool]));
}

/** What the model is shown of a result. */
export function shown(result: unknown): string | Json[] {
  if (result instanceof Parts) return result.parts;
  if (result instanceof ContentPart) return partsOf([result]);
  if (Array.isArray(result) && result.some((each) => each instanceof ContentPart)) {
    return partsOf(result.map((each: unknown) => (each instanceof ContentPart ? each : (shown(each) as string))));
  }
  return typeof result === "string" ? result : (JSON.stringify(result) ?? "null");
}

/** The words of whatever was thrown. */
export function words(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
