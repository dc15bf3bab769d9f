// Hooks: code of the app that looks at requests, answers and tools, changes them, or refuses them with a reason.

import { words, wrong } from "./error.js";
import type { Setup } from "./setup.js";
import type { Effect, HookAnswer, HookMoment, HookSpec, HookSubject, Json, Message, ToolInvocation } from "./types.js";
import { shown } from "./tools.js";
import type { Input } from "./turn.js";

/** The content of the next request. */
export type HookedRequest = Extract<HookSubject, { type: "hookedRequest" }>;
/** The model's answer. */
export type HookedAnswer = Extract<HookSubject, { type: "hookedAnswer" }>;
/** The result of a call. */
export type HookedResult = Extract<HookSubject, { type: "hookedResult" }>;

/**
 * Thrown by a hook that refuses its subject. A refused call, or its result, goes back to the model with the reason, and
 * the turn continues; a refused request or answer ends the turn.
 */
export class HookRefusal extends Error {}

type Looking<Given> = Given | undefined | void | Promise<Given | undefined | void>;

/**
 * Inspects what an agent's turns are about to do. A hook is asked about the subjects that it has methods for. Each
 * method accepts its subject by returning nothing; it throws a `HookRefusal` to refuse it, and another error fails the
 * turn, with the hook's name.
 */
export interface Hook {
  /** The name in refusals. */
  name: string;
  /**
   * Inspects a request to the model, once for each request, not for each try; may return content to send instead of the
   * request's own. The history is not changed.
   */
  beforeRequest?(request: HookedRequest, context: { signal: AbortSignal }): Looking<{ instructions?: string; messages?: Message[] }>;
  /** Inspects the model's answer, before anything follows from it. The user may have read it by then. */
  afterAnswer?(answer: HookedAnswer, context: { signal: AbortSignal }): void | Promise<void>;
  /**
   * Inspects a call, before the user is asked whether it may run; may return other arguments, which must fit the tool's
   * schema. The model is not informed.
   */
  beforeTool?(call: ToolInvocation, context: { signal: AbortSignal }): Looking<{ [name: string]: Json }>;
  /** Inspects the result of a call; may return another result for the model, as a tool's own result. */
  afterTool?(result: HookedResult, context: { signal: AbortSignal }): Looking<unknown>;
}

const MOMENTS: HookMoment[] = ["beforeRequest", "afterAnswer", "beforeTool", "afterTool"];

/** The hooks in the machine's configuration. @internal */
export function specs(hooks: readonly Hook[]): HookSpec[] {
  if (!Array.isArray(hooks)) throw wrong("`hooks` is no array", "give an array of hooks, with their code");
  return hooks.map((hook: Partial<Hook> | null | undefined, at) => {
    if (typeof hook?.name !== "string") throw wrong(`\`hooks[${at}]\` has no name`, "give it a `name`, which refusals call it by");
    const moments = MOMENTS.filter((moment) => hook[moment]);
    const odd = moments.find((moment) => typeof hook[moment] !== "function");
    if (odd) throw wrong(`\`${odd}\` of \`hooks[${at}]\` is no function`, "give one, or leave it out");
    if (moments.length === 0) throw wrong(`\`hooks[${at}]\` looks at nothing`, `give it a method: ${MOMENTS.join(", ")}`);
    return { name: hook.name, moments };
  });
}

/** Calls a hook. @internal */
export async function look({ hooks, clock: { now } }: Setup, { id, hook: name, subject }: Extract<Effect, { type: "runHook" }>, signal: AbortSignal): Promise<Input> {
  const said = await answerOf(hooks.find((hook) => hook.name === name), subject, signal);
  return (machine) => machine.hookAnswered(id, said, now());
}

async function answerOf(hook: Hook | undefined, subject: HookSubject, signal: AbortSignal): Promise<HookAnswer> {
  try {
    if (!hook) throw new Error("this app has no code of it");
    switch (subject.type) {
      case "hookedRequest": {
        const changed = await hook.beforeRequest?.(subject, { signal });
        return changed ? { type: "changeRequest", ...changed } : { type: "goOn" };
      }
      case "hookedAnswer":
        await hook.afterAnswer?.(subject, { signal });
        return { type: "goOn" };
      case "hookedCall": {
        const changed = await hook.beforeTool?.(subject.invocation, { signal });
        return changed ? { type: "changeArguments", arguments: changed } : { type: "goOn" };
      }
      case "hookedResult": {
        const changed = await hook.afterTool?.(subject, { signal });
        return changed === undefined ? { type: "goOn" } : { type: "changeResult", content: shown(changed) };
      }
    }
  } catch (error) {
    return error instanceof HookRefusal ? { type: "refused", reason: words(error) } : { type: "failed", message: words(error) };
  }
}
