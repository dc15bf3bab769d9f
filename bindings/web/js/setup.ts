// The setup of an agent.

import type { OutputDecoder, RunSource, Trimmer } from "./context.js";
import type { CredentialSource, InstructionsSource } from "./credentials.js";
import { Durable } from "./durable.js";
import { type Hook, specs } from "./hooks.js";
import { thrown, wrong } from "./module.js";
import type { RunRegistry } from "./registry.js";
import type { Json, Message, Provider, RunConfig } from "./types.js";
import type { Store } from "./store.js";
import { type Answerer, type Approver, type Tool, toolsByName } from "./tools.js";

/** The time, and a timer: for tests, and for environments with another `setTimeout`. */
export interface Clock {
  /** In milliseconds since the epoch. */
  now(): number;
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** The setup of an agent: the fields of `RunConfig` that apply to an agent, and the page's code. */
export interface AgentOptions extends Omit<RunConfig, "provider" | "tools" | "runIds" | "credentials" | "hooks"> {
  /** The provider's name. */
  provider: Provider;
  /** The tools on offer, with their code. */
  tools?: Tool[];
  /** Asks the user to approve tools with `requiresApproval`; without one they are denied. */
  approver?: Approver;
  /** Asks the user the questions of running tools; without one their questions are declined. */
  answerer?: Answerer;
  /**
   * Shortens a conversation that no longer fits the model's context; `contextGuard.atLimit` is then `trim`.
   */
  trimContext?: Trimmer;
  /** Decodes the typed answers, before they are accepted. Used only if there is an `output`. */
  outputDecoder?: OutputDecoder;
  /** Creates the runs of the hops, for a backend that creates each run before its stream is opened. */
  runSource?: RunSource;
  /**
   * Supplies the key, or a key and headers, of each request, for tokens that expire. It is called before each request,
   * and again when the provider refuses its answer with a 401. They are `key` and `headers` if left out.
   */
  credentials?: CredentialSource;
  /** Inspect requests, answers and tools, change them, or refuse them with a reason, in this order. */
  hooks?: Hook[];
  /** Makes the instructions of each turn. They are `instructions` if left out. */
  instructionsFrom?: InstructionsSource;
  /** A registry that the page has stored, or that several agents share. A new one if left out. */
  registry?: RunRegistry;
  /** The conversation's id; a random one if left out. */
  threadId?: string;
  /** An earlier conversation to continue: AG-UI messages, oldest first. */
  history?: Message[];
  /** The state shared with an AG-UI agent. */
  sharedState?: Json;
  /**
   * The store of the turns: each turn is stored before its first request is sent, and each finished block before what
   * depends on it. A thread of the store continues from its stored turns.
   */
  store?: Store;
  /**
   * Whether turns wait for a store that is full or unreachable, however long it takes. Otherwise a write is tried as
   * often as `persistAttempts` says, or 6 times by default, before the turn fails.
   */
  waitForStore?: boolean;
  /** The page's own `fetch`. */
  fetch?: typeof globalThis.fetch;
  clock?: Clock;
  /**
   * Takes complete lines of the journal of a turn, for `stepwell replay`. They hold the whole conversation, but no key.
   */
  journal?: (turn: string, lines: string) => void;
}

/** @internal */
export interface Setup {
  config: RunConfig;
  tools: Map<string, Tool>;
  approver: Approver | undefined;
  answerer: Answerer | undefined;
  trimContext: Trimmer | undefined;
  outputDecoder: OutputDecoder | undefined;
  runSource: RunSource | undefined;
  credentials: CredentialSource | undefined;
  hooks: Hook[];
  instructionsFrom: InstructionsSource | undefined;
  fetch: typeof globalThis.fetch;
  clock: Clock;
  journal: ((turn: string, lines: string) => void) | undefined;
}

const CLOCK: Clock = {
  now: () => Date.now(),
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (timer) => clearTimeout(timer as number),
};

const unfit = (reason: string, advice: string): Error => thrown("configuration", reason, advice);

/** The common parts of an agent's turns, and their store. Throws if the options do not fit each other. @internal */
export function setUp(options: Omit<AgentOptions, "threadId" | "history" | "sharedState" | "registry">): { setup: Setup; durable: Durable | undefined } {
  const { tools = [], approver, answerer, trimContext, outputDecoder, runSource, credentials, hooks = [], instructionsFrom, clock = CLOCK, journal, store, waitForStore = false, ...given } = options;
  const { fetch = (...request: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...request), ...rest } = given;
  for (const [name, code] of Object.entries({ approver, answerer, trimContext, outputDecoder, runSource, credentials, instructionsFrom, journal, fetch })) {
    if (code != null && typeof code !== "function") throw wrong(`\`${name}\` is no function`, "give one, or leave it out");
  }
  const byName = toolsByName(tools);
  const config: RunConfig = { ...rest, tools: tools.map(({ execute: _, ...definition }) => definition) };
  if (store) config.persistAttempts ??= 6;
  else if (config.persistAttempts != null) {
    throw unfit("the agent has no store to keep its turns in", "give it a `store`, or leave `persistAttempts` out");
  }
  if (trimContext) config.contextGuard = { ...config.contextGuard, atLimit: "trim" };
  else if (config.contextGuard?.atLimit === "trim") {
    throw unfit("the agent has no code that says what to leave out of a full context", "give it a `trimContext`, or take another policy");
  }
  if (outputDecoder && config.output) config.output = { ...config.output, decodedByHost: true };
  else if (config.output?.decodedByHost && !outputDecoder) {
    throw unfit("the agent has no code that decodes its typed answers", "give it an `outputDecoder`, or leave `decodedByHost` out");
  }
  if (runSource) config.runIds = "host";
  if (credentials) config.credentials = "host";
  config.hooks = specs(hooks);
  if (new Set(hooks.map((hook) => hook.name)).size < hooks.length) throw unfit("two hooks have one name", "give each a name of its own");
  const setup = { config, tools: byName, approver, answerer, trimContext, outputDecoder, runSource, credentials, hooks, instructionsFrom, fetch, clock, journal };
  return { setup, durable: store && new Durable(store, waitForStore, config, clock) };
}
