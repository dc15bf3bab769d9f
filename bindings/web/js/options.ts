// How one run differs from its agent.

import type { InstructionsSource } from "./credentials.js";
import { refuseUnknownCode } from "./configuration.js";
import { oneOf, wrong } from "./error.js";
import { type Model, type ModelName, reached } from "./model.js";
import { type Output, outputOf } from "./output.js";
import { functions, type Setup } from "./setup.js";
import type { ResumeEntry, RunConfig, TurnOptions, WhenBusy } from "./types.js";
import { type Answerer, type Approver, definitionOf, type Tool, toolsByName } from "./tools.js";

/** The value for the tools of a run, which their code finds in its context. Needed where the tools name its type. */
export type WithDeps<Deps> = unknown extends Deps ? { deps?: Deps } : { deps: Deps };

/** The options of a call; they can be left out if none is needed. @internal */
export type Given<Options> = {} extends Options ? [options?: Options] : [options: Options];

/**
 * How one run differs from its agent; an option that is left out is as in the agent. The options of a stored turn are
 * stored with it, except for the model, the headers, and all that is code.
 */
export type RunOptions<Deps = unknown> = RunFields<Deps> & WithDeps<Deps>;

interface RunFields<Deps> extends Omit<TurnOptions, "tools" | "output" | "whenBusy" | "instructions"> {
  /** The model that is asked instead of the agent's. */
  model?: Model | ModelName;
  /** The app's instructions, or a function that makes them, instead of the agent's. */
  instructions?: string | InstructionsSource<Deps>;
  /** Tools of this run only. A tool replaces the agent's tool of the same name. */
  tools?: readonly Tool<Deps>[];
  /** Asks the user to approve tools, instead of the agent's. With `null` they wait: see `Turn.pending`. */
  approver?: Approver | null;
  /** Asks the user the questions of running tools, instead of the agent's. With `null` they wait: see `Turn.pending`. */
  answerer?: Answerer | null;
  /** Cancels the turn. */
  signal?: AbortSignal | undefined;
  /** The turn's id, unique in the conversation; a random one if left out. */
  turnId?: string;
  /** The run that the turn's first run continues, for backends that need it. */
  parentRunId?: string;
  /** The answers to the interrupts that an earlier turn of an AG-UI agent ended with. */
  resume?: ResumeEntry[];
}

/** As `RunOptions`, for a conversation. */
export type SendOptions<Deps = unknown> = RunOptions<Deps> & {
  /** What happens if another turn of the conversation is under way, instead of what the agent says. */
  whenBusy?: WhenBusy | undefined;
};

/** The type of this run's answer, instead of the agent's. */
export interface WithOutput<T> {
  output: Output<T>;
}

/** Any of them, as code passes them on. @internal */
export type AnyOptions = RunFields<any> & { deps?: unknown; whenBusy?: WhenBusy | undefined; output?: Output<any>; isAlone?: boolean };

/** A run's own setup, and the options for its machine. @internal */
export interface RunSetup {
  setup: Setup;
  turn: TurnOptions;
  tools: Map<string, Tool<any>>;
  signal: AbortSignal | undefined;
  turnId: string;
  start: { parentRunId?: string; resume?: ResumeEntry[] };
}

/** @internal */
export function runSetup(agent: Setup, { deps, model, instructions, tools, approver = agent.approver, answerer = agent.answerer, output, signal, turnId = crypto.randomUUID(), parentRunId, resume, isAlone, whenBusy: _, ...rest }: AnyOptions): RunSetup {
  if (signal && typeof signal.addEventListener !== "function") throw wrong("`signal` is no `AbortSignal`", "give an `AbortController`'s");
  functions({ approver, answerer });
  refuseUnknownCode(rest);
  const own = toolsByName(tools ?? []);
  const typed = output && outputOf(output);
  const place = model && reached(model);
  const setup: Setup = {
    ...agent,
    deps,
    approver,
    answerer,
    isAlone,
    read: typed?.read ?? agent.read,
    instructionsFrom: instructions === undefined ? agent.instructionsFrom : typeof instructions === "function" ? instructions : undefined,
    ...(place && { config: atModel(agent.config, place.config), credentials: [place.credentials, ...agent.credentials.slice(1)] }),
  };
  const turn: TurnOptions = {
    ...rest,
    ...(typeof instructions === "string" && { instructions }),
    ...(tools && { tools: tools.map(definitionOf) }),
    ...(typed && { output: typed.asked }),
  };
  return { setup, turn, tools: own, signal, turnId, start: { ...(parentRunId !== undefined && { parentRunId }), ...(resume && { resume }) } };
}

/** The configuration with another model. */
function atModel({ api: _, baseUrl: __, key: ___, headers: ____, credentials: _____, resumption: ______, ...config }: RunConfig, place: { provider: string }): RunConfig {
  return { ...config, ...place };
}

/** Checks the option for another turn of the conversation. @internal */
export const whenBusyOf = (whenBusy: WhenBusy = "error"): WhenBusy => oneOf("whenBusy", whenBusy, ["error", "cancel", "queue", "steer"]);
