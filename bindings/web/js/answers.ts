// The app's code that a machine calls: questions to the user, the store, a run source, a trimmer; tools are next to it.

import { ContextOverflow } from "./context.js";
import type { Writer } from "./durable.js";
import { words } from "./error.js";
import { look } from "./hooks.js";
import type { RunMachine } from "./machine.js";
import { numberOf } from "./model-number.js";
import type { Setup } from "./setup.js";
import type { Effect, Message, Question, ToolInvocation } from "./types.js";
import { type Asking, run } from "./tool-calls.js";
import type { Tool } from "./tools.js";
import type { Input } from "./turn.js";

type Created = Extract<Effect, { type: "createRun" }>;
type Authorize = Extract<Effect, { type: "authorize" }>;
type Overflow = Extract<Effect, { type: "trimContext" }>;
type Choice = Extract<Effect, { type: "chooseModel" }>;
type Typed = Extract<Effect, { type: "decodeOutput" }>;

/** The turn whose effects are carried out. @internal */
export interface TurnOf {
  threadId: string;
  turn: string;
  /** The model that is asked. */
  model: RunMachine["model"];
  /** The tools of this turn only. */
  tools: Map<string, Tool<any>>;
}

/**
 * Carries out an effect that is no stream, and returns the machine's input; none for what waits for a reply. The messages are those of the conversation
 * at the time of the effect. @internal
 */
export async function answer(setup: Setup, effect: Effect, turn: TurnOf, messages: Message[], writer: Writer | undefined, asking: Asking, signal: AbortSignal): Promise<Input | undefined> {
  const { now } = setup.clock;
  const { id } = effect;
  switch (effect.type) {
    case "runTool":
      return run(setup, id, effect.invocation, turn.tools, asking, signal);
    case "askApproval":
      return ask(setup, id, effect.invocation, signal);
    case "askUser":
      return question(setup, id, effect.invocation, effect.question, signal);
    case "createRun":
      return create(setup, effect, signal);
    case "persist":
      return writer?.write(effect) ?? ((machine) => machine.persistFailed(id, "this agent has no store", now()));
    case "authorize":
      return authorize(setup, effect, turn, signal);
    case "runHook":
      return look(setup, effect, signal);
    case "trimContext":
      return trim(setup, effect, messages, signal);
    case "chooseModel":
      return choose(setup, effect, signal);
    case "decodeOutput":
      return decode(setup, effect);
    default:
      throw new TypeError(`no way to carry out ${effect.type}`);
  }
}

const NO_WAY = "this app has no way to ask the user";

async function question({ answerer, isAlone, clock: { now } }: Setup, id: string, invocation: ToolInvocation, question: Question, signal: AbortSignal): Promise<Input | undefined> {
  if (!answerer) return isAlone ? (machine) => machine.decline(id, NO_WAY, now()) : undefined;
  try {
    const value = await answerer(question, { signal, invocation });
    if (value === undefined) return (machine) => machine.decline(id, undefined, now());
    return (machine) => {
      try {
        return machine.answer(id, value, now());
      } catch (error) {
        return machine.decline(id, words(error), now());
      }
    };
  } catch {
    return (machine) => machine.decline(id, "the user could not be asked", now());
  }
}

async function ask({ approver, isAlone, clock: { now } }: Setup, id: string, invocation: ToolInvocation, signal: AbortSignal): Promise<Input | undefined> {
  if (!approver) return isAlone ? (machine) => machine.deny(id, NO_WAY, now()) : undefined;
  try {
    const decision = await approver(invocation, { signal });
    if (decision === true) return (machine) => machine.approve(id, now());
    if (typeof decision !== "object") return (machine) => machine.deny(id, decision || undefined, now());
    return (machine) => {
      try {
        return machine.approve(id, now(), decision);
      } catch (error) {
        return machine.deny(id, `they edited the arguments, and ${words(error)}`, now());
      }
    };
  } catch {
    return (machine) => machine.deny(id, "the user could not be asked", now());
  }
}

async function create({ runSource, clock: { now } }: Setup, { id, threadId, parentRunId }: Created, signal: AbortSignal): Promise<Input> {
  try {
    if (!runSource) throw new Error("the agent has no `runSource`");
    const runId = await runSource({ threadId, ...(parentRunId !== undefined && { parentRunId }) }, { signal });
    return (machine) => machine.runCreated(id, runId, now());
  } catch (error) {
    return (machine) => machine.runNotCreated(id, words(error), now());
  }
}

async function authorize({ config, credentials, clock: { now } }: Setup, { id, rejected }: Authorize, { threadId, turn, model }: TurnOf, signal: AbortSignal): Promise<Input> {
  try {
    const source = credentials[numberOf(config, model)];
    if (!source) throw new Error("the agent has no `credentials`");
    const given = await source({ threadId, turn, model: model!, rejected }, { signal });
    const { key, headers } = typeof given === "string" ? { key: given, headers: undefined } : given;
    return (machine) => machine.authorized(id, key, now(), headers);
  } catch (error) {
    return (machine) => machine.notAuthorized(id, words(error), now());
  }
}

async function trim({ trimContext, clock: { now } }: Setup, { id, tokens, window, messages: sized }: Overflow, messages: Message[], signal: AbortSignal): Promise<Input> {
  const cannot = (message: string) => (machine: RunMachine) => machine.contextNotTrimmed(id, message, now());
  try {
    const kept = await trimContext?.(new ContextOverflow(tokens, window, sized), messages, { signal });
    if (!kept) return cannot("the app left nothing out");
    const { keep, summary } = Array.isArray(kept) ? { keep: kept, summary: undefined } : kept;
    return (machine) => machine.contextTrimmed(id, keep, now(), summary);
  } catch (error) {
    console.warn("stepwell: the conversation could not be shortened", error);
    return cannot("the app's code for it broke off");
  }
}

async function choose({ modelFor, clock: { now } }: Setup, { id, context }: Choice, signal: AbortSignal): Promise<Input> {
  try {
    const model = await modelFor!(context, { signal });
    if (!context.models[model]) throw new Error(`no model has the number ${model}`);
    return (machine) => machine.modelChosen(id, model, now());
  } catch (error) {
    return (machine) => machine.modelNotChosen(id, words(error), now());
  }
}

async function decode({ read, clock: { now } }: Setup, { id, value }: Typed): Promise<Input> {
  const refused = (reason: string) => (machine: RunMachine) => machine.outputRefused(id, reason, now());
  if (!read) return refused("this app has no code that reads the answer");
  try {
    await read(value);
    return (machine) => machine.outputDecoded(id, now());
  } catch (error) {
    return refused(words(error));
  }
}
