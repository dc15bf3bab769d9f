// A conversation with a model and the page's tools.

import { loaded, RunMachine } from "./module.js";
import { type Json, type Message, type Outputs, type RunConfig, RunRegistry, type RunHandle, type ThreadKey } from "./stepwell.js";
import type { Approver, Tool } from "./tools.js";
import { type Finished, Turn, TurnError } from "./turn.js";

/** The time, and what wakes at one: for tests, and where `setTimeout` is another. */
export interface Clock {
  /** In milliseconds since the epoch. */
  now(): number;
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** How an agent is set up: all of `RunConfig` that an agent can do, and what the page has for it. */
export interface AgentOptions extends Omit<RunConfig, "tools" | "runIds" | "persistAttempts"> {
  /** The tools on offer, with their code. */
  tools?: Tool[];
  /** Asks the user about tools with `requiresApproval`; without one they are denied. */
  approver?: Approver;
  /** The conversation's id; a random one if left out. */
  threadId?: string;
  /** An earlier conversation to go on with: AG-UI messages, oldest first. */
  history?: Message[];
  /** The state shared with an AG-UI agent. */
  sharedState?: Json;
  /** The page's own `fetch`. */
  fetch?: typeof globalThis.fetch;
  clock?: Clock;
  /** Takes whole lines of the journal of a turn, for `stepwell replay`. They hold all that is said, but no key. */
  journal?: (turn: string, lines: string) => void;
}

/** @internal */
export interface Setup {
  config: RunConfig;
  tools: Map<string, Tool>;
  approver: Approver | undefined;
  fetch: typeof globalThis.fetch;
  clock: Clock;
  journal: ((turn: string, lines: string) => void) | undefined;
}

interface Thread {
  key: Required<ThreadKey>;
  messages: Message[];
  sharedState: Json;
  current: Turn | undefined;
}

interface Shared {
  setup: Setup;
  registry: RunRegistry;
  threads: Map<string, Thread>;
  isInBackground: boolean;
  isOffline: boolean;
}

const CLOCK: Clock = {
  now: () => Date.now(),
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (timer) => clearTimeout(timer as number),
};

/** A conversation with a model and the page's tools: a `RunMachine` for each turn, and `fetch` to carry out what it asks for. */
export class Agent {
  #shared: Shared;
  #thread: Thread;
  readonly #options: AgentOptions;

  /** Throws a `StepwellError` where the configuration does not work. Nothing is sent yet. */
  constructor(options: AgentOptions) {
    loaded();
    this.#options = options;
    const { tools = [], approver, threadId = crypto.randomUUID(), history = [], sharedState = {}, clock = CLOCK, journal, ...given } = options;
    const { fetch = (...request: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...request), ...rest } = given;
    const config: RunConfig = { ...rest, tools: tools.map(({ execute: _, ...definition }) => definition) };
    new RunMachine(config, threadId, history, sharedState).free();
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    const setup = { config, tools: byName, approver, fetch, clock, journal };
    this.#shared = { setup, registry: new RunRegistry(), threads: new Map(), isInBackground: false, isOffline: false };
    this.#thread = this.#threadOf(threadId, history, sharedState);
  }

  #threadOf(given: ThreadKey | string, messages: Message[] = [], sharedState: Json = {}): Thread {
    const key = { room: "", server: "", ...(typeof given === "string" ? { thread: given } : given) };
    const name = JSON.stringify([key.server, key.room, key.thread]);
    const known = this.#shared.threads.get(name) ?? { key, messages, sharedState, current: undefined };
    this.#shared.threads.set(name, known);
    return known;
  }

  /** Another conversation with the same model and tools: the one that goes by this key, or a new one. */
  thread(key: ThreadKey | string): Agent {
    // Its own setup is put in the place of this one's, which was looked at before.
    const other = new Agent(this.#options);
    other.#shared = this.#shared;
    other.#thread = this.#threadOf(key);
    return other;
  }

  /** Says something to the model. A turn of this thread that is still under way is cancelled first: the user has moved on. */
  send(said: string | Message, options: { signal?: AbortSignal } = {}): Turn {
    const { setup } = this.#shared;
    this.#thread.current?.cancel();
    const { key, messages, sharedState } = this.#thread;
    const machine = new RunMachine(setup.config, key.thread, messages, sharedState, setup.journal !== undefined);
    const start = { runId: crypto.randomUUID(), ...(typeof said === "string" ? { text: said } : { message: said }) };
    return this.#begin(machine, () => machine.start(start, setup.clock.now()), options.signal);
  }

  /** Says something and waits for the whole answer; throws a `TurnError` where it is not whole. */
  async sendAndWait(said: string | Message, options: { signal?: AbortSignal } = {}): Promise<Finished> {
    const finished = await this.send(said, options).finish();
    const { problem } = finished.outcome;
    if (problem) throw new TurnError(problem, finished);
    return finished;
  }

  /** Goes on with a stored turn, of `Turn.snapshot`, in a later page. */
  revive(snapshot: string, options: { signal?: AbortSignal } = {}): Turn {
    const { setup } = this.#shared;
    this.#thread.current?.cancel();
    const machine = RunMachine.revive(snapshot, setup.config, setup.clock.now(), setup.journal !== undefined);
    return this.#begin(machine, () => machine.pollOutputs(), options.signal);
  }

  #begin(machine: RunMachine, input: () => Outputs, signal?: AbortSignal): Turn {
    const { setup, registry, isInBackground, isOffline } = this.#shared;
    const thread = this.#thread;
    let handle: RunHandle = registry.register(thread.key).handle;
    const turn: Turn = new Turn(
      setup,
      machine,
      (event) => {
        if (event.type !== "hopStarted") return;
        try {
          handle = registry.replace(handle);
        } catch {
          // Whoever took the thread over has it: this turn stops.
          queueMicrotask(turn.cancel);
        }
      },
      (finished, { sharedState }) => {
        Object.assign(thread, { messages: finished.messages, sharedState });
        if (thread.current === turn) thread.current = undefined;
        try {
          registry.complete(handle, finished.outcome);
        } catch {
          // For the registry it was over before.
        }
      },
      signal,
    );
    thread.current = turn;
    turn.begin(input);
    // A new run knows nothing of the device.
    if (isInBackground) turn.tell((machine) => machine.enteredBackground(setup.clock.now()));
    if (isOffline) turn.tell((machine) => machine.networkLost(setup.clock.now()));
    return turn;
  }

  /** Cancels the turn of this thread that is under way, if there is one. */
  cancel(): void {
    this.#thread.current?.cancel();
  }

  #tellAll(input: (machine: RunMachine, now: number) => Outputs): void {
    for (const { current } of this.#shared.threads.values()) current?.tell((machine) => input(machine, this.#shared.setup.clock.now()));
  }

  /** The app goes to the background; see `DevicePolicy`. As what follows, it holds for the turns of all threads, and later ones. */
  enteredBackground(): void {
    this.#shared.isInBackground = true;
    this.#tellAll((machine, now) => machine.enteredBackground(now));
  }

  /** The app is in the foreground again. */
  enteredForeground(): void {
    this.#shared.isInBackground = false;
    this.#tellAll((machine, now) => machine.enteredForeground(now));
  }

  /** The network is gone. */
  networkLost(): void {
    this.#shared.isOffline = true;
    this.#tellAll((machine, now) => machine.networkLost(now));
  }

  /** There is a network, or another one took the place of the one before. */
  networkAvailable(): void {
    this.#shared.isOffline = false;
    this.#tellAll((machine, now) => machine.networkAvailable(now));
  }

  /** Follows the browser's own events: the page is hidden or shown, the network goes or comes. Gives what stops that. */
  followDevice(): () => void {
    const stop = new AbortController();
    const { signal } = stop;
    const seen = () => (document.visibilityState === "hidden" ? this.enteredBackground() : this.enteredForeground());
    globalThis.document?.addEventListener("visibilitychange", seen, { signal });
    globalThis.addEventListener?.("offline", () => this.networkLost(), { signal });
    globalThis.addEventListener?.("online", () => this.networkAvailable(), { signal });
    return () => stop.abort();
  }

  /** Which threads have a turn under way, what the user looks at, and what is unread. Its runs are the agent's turns. */
  get registry(): RunRegistry {
    return this.#shared.registry;
  }

  /** The conversation's id. */
  get threadId(): string {
    return this.#thread.key.thread;
  }

  /** The conversation as it was after the last turn: AG-UI messages, oldest first. */
  get messages(): Message[] {
    return this.#thread.messages;
  }

  /** The state shared with an AG-UI agent, as it was after the last turn. */
  get sharedState(): Json {
    return this.#thread.sharedState;
  }
}
