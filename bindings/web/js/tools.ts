// The app's code: tools, and the functions that ask the user about them.

import { words, wrong } from "./error.js";
import { type Content, ContentPart, partsOf } from "./media.js";
import { jsonSchemaOf, readBy, type StandardSchema } from "./output.js";
import type { Json, Question, ToolDefinition, ToolInvocation, UserAnswer } from "./types.js";

/** The context of a tool's call, in addition to the arguments. */
export interface ToolContext<Deps = unknown> {
  /** What the run was given for its tools: the user, a database. */
  deps: Deps;
  /** Is aborted when the result is no longer wanted: the turn was cancelled, or the tool took too long. */
  signal: AbortSignal;
  /** The call: its id, the thread, the turn, the run and the attempt. */
  invocation: ToolInvocation;
  /**
   * Reports the call's progress, from 0 to 1 if that is known, and what the call is doing: the event `toolProgress`.
   */
  report(fraction?: number, message?: string): void;
  /**
   * Shows a partial result, which replaces the previous one: the event `toolPartialResult`. The model gets only the
   * final result. 256 KiB at most.
   */
  partial(result: unknown): void;
  /**
   * Asks the user, by the agent's `answerer`, and waits for the answer, which fits the question's schema; a text asks
   * for a text. The tool's own clock is paused meanwhile. An idempotent tool that is run again after a crash and asks
   * the same question gets the earlier answer.
   */
  ask(question: Question | string): Promise<UserAnswer>;
}

/** A JSON Schema. */
export type JsonSchema = { [name: string]: Json };

/**
 * A tool with its code. The model is shown the result of `execute`: text unchanged, media as media (`image` and the
 * like, an array with some, `Parts`), anything else as JSON, nothing as `null`. An exception is this tool's own: the
 * model is informed, and the turn continues. Arguments fit `parameters` before `execute` is called.
 */
export interface Tool<Deps = unknown> extends Omit<ToolDefinition, "parameters"> {
  /** The type of the arguments: a JSON Schema, or a type of Zod or of another library of Standard Schema. */
  parameters?: JsonSchema | StandardSchema<unknown>;
  execute: (args: any, context: ToolContext<Deps>) => unknown;
}

/** A tool whose arguments have a type. */
export interface TypedTool<Args, Deps> extends Omit<ToolDefinition, "parameters"> {
  parameters?: StandardSchema<Args> | JsonSchema;
  execute: (args: Args, context: ToolContext<Deps>) => unknown;
}

/**
 * Returns the tool unchanged: the arguments of its `execute` have the type of its `parameters`, if those are a type of
 * Zod or of another library of Standard Schema.
 */
export const tool = <Args = any, Deps = unknown>(tool: TypedTool<Args, Deps>): Tool<Deps> => tool as Tool<Deps>;

/** Thrown by a tool to inform the model why it could not do its work. */
export class ToolError extends Error {
  override name = "ToolError";
}

/** Thrown by a tool that has begun something whose result comes later, in minutes or days, by `Turn.resolveCall`. */
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
 * The user's decision on a tool call: `true`, `false`, or a reason to deny it, for the model to read; or the arguments
 * to run it with instead of the model's. Arguments that do not fit the tool count as a denial.
 */
export type Decision = boolean | string | { [name: string]: Json };

/** Asks the user whether a tool may run. */
export type Approver = (invocation: ToolInvocation, context: { signal: AbortSignal }) => Decision | Promise<Decision>;

/**
 * Asks the user a running tool's question: returns the answer, which fits `question.schema`, or `undefined` if there is
 * none.
 */
export type Answerer = (question: Question, context: { signal: AbortSignal; invocation: ToolInvocation }) => Json | undefined | Promise<Json | undefined>;

/** The tools, by the names that the model calls them by. Throws if one has no code. @internal */
export function toolsByName(tools: readonly Tool<any>[]): Map<string, Tool<any>> {
  if (!Array.isArray(tools)) throw wrong("`tools` is no array", "give an array of tools, with their code");
  tools.forEach((tool: Partial<Tool> | null | undefined, at) => {
    if (typeof tool?.execute !== "function") throw wrong(`\`tools[${at}]\` has no code`, "give it an `execute`, a function");
  });
  return new Map(tools.map((tool) => [tool.name, tool]));
}

/** The tool without its code. @internal */
export function definitionOf({ execute: _, parameters, ...definition }: Tool<any>): ToolDefinition {
  if (parameters === undefined) return definition;
  return { ...definition, parameters: isStandard(parameters) ? jsonSchemaOf(parameters, "of the arguments") : parameters };
}

/** The arguments as the tool's code takes them. Throws a `ToolError` if their type refuses them. @internal */
export async function argumentsOf({ parameters }: Tool<any>, given: ToolInvocation["arguments"]): Promise<unknown> {
  if (parameters === undefined || !isStandard(parameters)) return given;
  try {
    return await readBy(parameters, given);
  } catch (error) {
    throw new ToolError(words(error));
  }
}

const isStandard = (type: JsonSchema | StandardSchema<unknown>): type is StandardSchema<unknown> => "~standard" in type;

/** The form in which the model is shown a result. */
export function shown(result: unknown): string | Json[] {
  if (result instanceof Parts) return result.parts;
  if (result instanceof ContentPart) return partsOf([result]);
  if (Array.isArray(result) && result.some((each) => each instanceof ContentPart)) {
    return partsOf(result.map((each: unknown) => (each instanceof ContentPart ? each : (shown(each) as string))));
  }
  return typeof result === "string" ? result : (JSON.stringify(result) ?? "null");
}
