// The setup of an agent.

import type { ModelChooser, RunSource, Trimmer } from "./context.js";
import type { CredentialSource, InstructionsSource } from "./credentials.js";
import { oneOf, unfit, wrong } from "./error.js";
import { type Hook, specs } from "./hooks.js";
import { type Model, type ModelName, reached } from "./model.js";
import { type Output, outputOf } from "./output.js";
import type { RunRegistry } from "./registry.js";
import type { ErrorKind, Json, RunConfig, WhenBusy } from "./types.js";
import type { Store } from "./store.js";
import { type Answerer, type Approver, definitionOf, type Tool, toolsByName } from "./tools.js";

/** The time, and a timer: for tests, and for environments with another `setTimeout`. */
export interface Clock {
  /** In milliseconds since the epoch. */
  now(): number;
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** What happens if the code of a tool is broken. */
export type OnToolError = "tellModel" | "showModel" | "fail";

/** What an agent is: its model, and the fields of `RunConfig` that apply to an agent, with the app's code. */
export interface AgentOptions<T = string, Deps = unknown>
  extends Omit<RunConfig, "provider" | "model" | "api" | "baseUrl" | "key" | "headers" | "tools" | "runIds" | "credentials" | "hooks" | "output" | "instructions" | "whenBusy" | "fallback"> {
  /** The model: `"openai:gpt-5-mini"`, or `openai("gpt-5-mini", { … })` and the like. */
  model: Model | ModelName;
  /** The app's own instructions, or a function that makes those of each turn; they are no part of the conversation. */
  instructions?: string | InstructionsSource<Deps>;
  /** The tools on offer, with their code. */
  tools?: readonly Tool<Deps>[];
  /** The type of the answers: a type of Zod or of another library of Standard Schema, or a JSON Schema; text if left out. */
  output?: Output<T>;
  /** Asks the user to approve tools with `requiresApproval`; without one they wait: see `Turn.pending`. */
  approver?: Approver;
  /** Asks the user the questions of running tools; without one they wait: see `Turn.pending`. */
  answerer?: Answerer;
  /**
   * What happens if the code of a tool throws anything but a `ToolError`: the model is told only that the tool failed
   * (`tellModel`, if left out), or is shown what was thrown (`showModel`), which may hold addresses and secrets, or the turn
   * fails with an error of the kind `toolFailed`, whose `cause` is what was thrown (`fail`, for tests).
   */
  onToolError?: OnToolError;
  /** Shortens a conversation that no longer fits the model's context; `contextGuard.atLimit` is then `trim`. */
  trimContext?: Trimmer;
  /**
   * The models that are asked, in this order, when the agent's own has failed after its retries; the turn stays with the one
   * that answers. The update `modelChanged` tells the app.
   */
  fallback?: readonly (Model | ModelName)[];
  /**
   * The kinds of failure after which the `fallback` is asked; an overloaded model, a used-up rate limit, an error of the
   * server or the connection, and a timeout if left out. `outputInvalid` includes empty answers.
   */
  fallbackAfter?: readonly ErrorKind[];
  /**
   * Whether another model is asked even if the user has seen a part of the answer. The part stays, marked as cut, and the
   * other model answers in a message of its own. Otherwise the turn fails.
   */
  fallbackAfterText?: boolean;
  /** The time for which a model that has failed is not asked first, in milliseconds; a minute if left out. */
  modelRestMs?: number;
  /**
   * Chooses the model of each hop, by its number: 0 is the agent's own, 1 the first of the `fallback`. After an exception,
   * and for a number that no model has, the turn continues with the model that it has. A model that fails is replaced all
   * the same.
   */
  modelFor?: ModelChooser;
  /** Creates the runs of the hops, for a backend that creates each run before its stream is opened. */
  runSource?: RunSource;
  /** Inspect requests, answers and tools, change them, or refuse them with a reason, in this order. */
  hooks?: readonly Hook[];
  /** What happens to a turn that begins while another turn of its conversation is under way; `error` if left out. */
  whenBusy?: WhenBusy;
  /**
   * The store of the conversations, unless a conversation has its own: each turn is stored before its first request is
   * sent, and each finished block before what depends on it. A conversation of the store continues from its stored turns.
   */
  store?: Store;
  /**
   * Whether turns wait for a store that is full or unreachable, however long it takes. Otherwise a write is tried as
   * often as `persistAttempts` says, or 6 times by default, before the turn fails.
   */
  waitForStore?: boolean;
  /** Keeps which conversations have a turn under way, or are unread; agents may share one. None if left out. */
  registry?: RunRegistry;
  /** The app's own `fetch`. */
  fetch?: typeof globalThis.fetch;
  clock?: Clock;
  /** Takes complete lines of the journal of a turn, for `stepwell replay`. They hold the whole conversation, but no key. */
  journal?: (turn: string, lines: string) => void;
}

/** What a turn is made with. @internal */
export interface Setup {
  config: RunConfig;
  tools: Map<string, Tool<any>>;
  approver: Approver | null | undefined;
  answerer: Answerer | null | undefined;
  onToolError: OnToolError;
  /** Whether nobody can reply to the turn. */
  isAlone?: boolean | undefined;
  trimContext: Trimmer | undefined;
  modelFor: ModelChooser | undefined;
  /** Reads the typed answers; absent if they are text. */
  read: ((value: Json) => unknown) | undefined;
  runSource: RunSource | undefined;
  /** The sources of the models' keys, by the models' numbers. */
  credentials: (CredentialSource | undefined)[];
  hooks: readonly Hook[];
  instructionsFrom: InstructionsSource<any> | undefined;
  /** What the run was given for its tools. */
  deps: unknown;
  fetch: typeof globalThis.fetch;
  clock: Clock;
  journal: ((turn: string, lines: string) => void) | undefined;
}

const CLOCK: Clock = {
  now: () => Date.now(),
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (timer) => clearTimeout(timer as number),
};

/** Throws if one of these is there and no function. @internal */
export function functions(code: object): void {
  for (const [name, given] of Object.entries(code)) {
    if (given != null && typeof given !== "function") throw wrong(`\`${name}\` is no function`, "give one, or leave it out");
  }
}

/** The kinds of failure after which another model is asked. */
const AFTER: readonly ErrorKind[] = ["overloaded", "rateLimit", "serverError", "connection", "timeout"];

type Definition = Omit<AgentOptions<any, any>, "store" | "waitForStore" | "registry" | "whenBusy">;

/** The common parts of an agent's turns. Throws if the options do not fit each other. @internal */
export function setUp(options: Definition): Setup {
  const { model, instructions, tools = [], output, approver, answerer, onToolError = "tellModel", trimContext, fallback = [], fallbackAfter = AFTER, fallbackAfterText = false, modelRestMs = 60_000, modelFor, runSource, hooks = [], clock = CLOCK, journal, ...given } = options;
  const { fetch = (...request: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...request), ...rest } = given;
  functions({ approver, answerer, trimContext, modelFor, runSource, journal, fetch });
  const byName = toolsByName(tools);
  const models = [model, ...fallback].map((each) => reached(each));
  const [place, ...others] = models.map(({ config }) => config);
  const typed = output && outputOf(output);
  const config: RunConfig = {
    ...rest,
    ...place!,
    fallback: { models: others, after: fallbackAfter as ErrorKind[], afterText: fallbackAfterText, restMs: modelRestMs, ...(modelFor && { choice: "host" }) },
    tools: tools.map(definitionOf),
    ...(typeof instructions === "string" && { instructions }),
    ...(typed && { output: typed.asked }),
  };
  if (trimContext) config.contextGuard = { ...config.contextGuard, atLimit: "trim" };
  else if (config.contextGuard?.atLimit === "trim") {
    throw unfit("nothing says what to leave out of a full context", "give a `trimContext`");
  }
  if (runSource) config.runIds = "host";
  config.hooks = specs(hooks);
  if (new Set(hooks.map((hook) => hook.name)).size < hooks.length) throw unfit("two hooks have one name", "give each a name of its own");
  const instructionsFrom = typeof instructions === "function" ? instructions : undefined;
  const code = { approver, answerer, onToolError: oneOf("onToolError", onToolError, ["tellModel", "showModel", "fail"]), trimContext, modelFor, read: typed?.read, runSource, credentials: models.map(({ credentials }) => credentials), hooks: [...hooks], instructionsFrom };
  return { config, tools: byName, ...code, deps: undefined, fetch, clock, journal };
}
