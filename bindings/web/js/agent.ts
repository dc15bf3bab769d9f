// A conversation with a model and the page's tools.

import { Durable, type Known, type Waiting, Writer } from "./durable.js";
import { loaded, misuse, RunMachine } from "./module.js";
import { type Json, type Message, type RunConfig, RunRegistry, type RunHandle, type ThreadKey, titleOf, type TurnKey } from "./stepwell.js";
import { type Store, StoreError } from "./store.js";
import type { Approver, Tool } from "./tools.js";
import { type Finished, type Input, type Run, Turn, TurnError } from "./turn.js";

/** The time, and what wakes at one: for tests, and where `setTimeout` is another. */
export interface Clock {
  /** In milliseconds since the epoch. */
  now(): number;
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** How an agent is set up: all of `RunConfig` that an agent can do, and what the page has for it. */
export interface AgentOptions extends Omit<RunConfig, "tools" | "runIds"> {
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
  /**
   * Where the turns are kept: each is there before its first request goes out, and each finished piece of it before what
   * depends on it. A thread that it has goes on from what it has.
   */
  store?: Store;
  /**
   * Whether turns wait for a store that is full or out of reach, however long it takes. Else a write is tried as often as
   * `persistAttempts` says, 6 times if it does not, before the turn fails.
   */
  waitForStore?: boolean;
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

interface Thread extends Known {
  key: Required<ThreadKey>;
  current: Turn | undefined;
}

interface Shared {
  setup: Setup;
  durable: Durable | undefined;
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

/** An unfinished turn of the store that goes on here. */
export interface Recovered {
  /** The turn. `Agent.thread` with its thread gives the conversation. */
  key: TurnKey;
  /** The turn under way. Absent if it cannot go on. */
  turn?: Turn;
  /** Why it cannot go on. It stays unfinished in the store, until somebody sends on its thread. */
  error?: unknown;
}

/** How a turn may be begun. */
export interface SendOptions {
  /** Cancels the turn. */
  signal?: AbortSignal;
}

/** A conversation with a model and the page's tools: a `RunMachine` for each turn, and `fetch` to carry out what it asks for. */
export class Agent {
  readonly #shared: Shared;
  readonly #thread: Thread;

  /** Throws a `StepwellError` where the configuration does not work. Nothing is sent yet. */
  constructor(options: AgentOptions);
  constructor(options: AgentOptions | Shared, thread?: Thread) {
    if (thread) {
      this.#shared = options as Shared;
      this.#thread = thread;
      return;
    }
    loaded();
    const { tools = [], approver, threadId = crypto.randomUUID(), history = [], sharedState = {}, clock = CLOCK, journal, ...given } = options as AgentOptions;
    const { fetch = (...request: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...request), store, waitForStore = false, ...rest } = given;
    const config: RunConfig = { ...rest, tools: tools.map(({ execute: _, ...definition }) => definition) };
    if (store) config.persistAttempts ??= 6;
    else if (config.persistAttempts != null) {
      const error = misuse("the agent has no store to keep its turns in", "give it a `store`, or leave `persistAttempts` out");
      throw Object.assign(error, { kind: "configuration" });
    }
    new RunMachine(config, threadId, history, sharedState).free();
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    const setup = { config, tools: byName, approver, fetch, clock, journal };
    const durable = store && new Durable(store, waitForStore, config, clock);
    this.#shared = { setup, durable, registry: new RunRegistry(), threads: new Map(), isInBackground: false, isOffline: false };
    this.#thread = this.#threadOf(threadId, history, sharedState);
  }

  #threadOf(given: ThreadKey | string, messages: Message[] = [], sharedState: Json = {}): Thread {
    const [key, name] = named(given);
    const known = this.#shared.threads.get(name) ?? { key, messages, sharedState, last: undefined, current: undefined };
    this.#shared.threads.set(name, known);
    return known;
  }

  #on(thread: Thread): Agent {
    return new (Agent as unknown as new (shared: Shared, thread: Thread) => Agent)(this.#shared, thread);
  }

  /** Another conversation with the same model, tools and store: the one that goes by this key, or a new one. */
  thread(key: ThreadKey | string): Agent {
    return this.#on(this.#threadOf(key));
  }

  /** Says something to the model. A turn of this thread that is still under way is cancelled first: the user has moved on. */
  send(said: string | Message, options: SendOptions = {}): Turn {
    return this.#send(said, options);
  }

  /** Says something and waits for the whole answer; throws a `TurnError` where it is not whole. */
  async sendAndWait(said: string | Message, options: SendOptions = {}): Promise<Finished> {
    const finished = await this.send(said, options).finish();
    const { problem } = finished.outcome;
    if (problem) throw new TurnError(problem, finished);
    return finished;
  }

  /**
   * Says something else in the place of what a stored turn of this thread began with: another branch, from the conversation
   * before that turn, which stays. For an agent with a store; throws its `StoreError`.
   */
  async resend(turn: string, said: string | Message, options: SendOptions = {}): Promise<Turn> {
    const { durable } = this.#shared;
    if (!durable) throw misuse("the agent has no store to take the earlier turn from", "give it a `store`");
    const { key: thread } = this.#thread;
    const earlier = await durable.once(() => durable.store.turn({ thread, turn }));
    if (!earlier) throw new StoreError("noTurn", `the store has no turn \`${turn}\` in this thread`);
    return this.#send(said, options, { parent: earlier.parent });
  }

  #send(said: string | Message, { signal }: SendOptions, from?: { parent: string | undefined }): Turn {
    const { setup, durable } = this.#shared;
    const { config, clock, journal } = setup;
    const thread = this.#thread;
    const { key } = thread;
    const runId = crypto.randomUUID();
    const message: Message = typeof said === "string" ? { id: `${runId}-user`, role: "user", content: said } : said;
    const started = ({ messages, sharedState }: { messages: Message[]; sharedState: Json }) => {
      const machine = new RunMachine(config, key.thread, messages, sharedState, journal !== undefined);
      return { machine, outputs: machine.start({ runId, message }, clock.now()) };
    };
    if (!durable) return this.#begin(() => started(thread), signal);
    return this.#stored(runId, signal, async (waiting) => {
      const { parent, ...before } = await durable.before(key, from, () => thread, waiting);
      const run = started(before);
      // What the thread is called, if this is its first turn.
      const title = parent === undefined ? titleOf(run.machine.messages) : "";
      const turn = { key: { thread: key, turn: runId }, message, snapshot: run.machine.snapshot(), atMs: clock.now() };
      const generation = await durable.begin({ ...turn, ...(parent !== undefined && { parent }), ...(title && { title }) }, waiting);
      return { ...run, generation };
    });
  }

  /**
   * Goes on with a turn that `Turn.rested` gave, in this page or a later one, on the thread of the snapshot. An agent with a
   * store goes on from what that has of the turn, which is at least as new.
   */
  revive(snapshot: string, { signal }: SendOptions = {}): Turn {
    const { durable } = this.#shared;
    const machine = this.#revived(snapshot);
    const thread = { ...this.#thread.key, thread: machine.threadId };
    const on = this.#on(this.#threadOf(thread));
    if (!durable) return on.#begin(() => ({ machine, outputs: machine.pollOutputs() }), signal, true);
    const key = { thread, turn: machine.turn };
    return on.#stored(
      key.turn,
      signal,
      async (waiting) => {
        const claimed = await durable.claim(key, waiting);
        if (!claimed) {
          // It was begun without this store.
          const generation = await durable.begin({ key, snapshot, atMs: this.#shared.setup.clock.now() }, waiting);
          return { machine, outputs: machine.pollOutputs(), generation };
        }
        machine.free();
        const newer = this.#revived(claimed.snapshot ?? snapshot);
        return { machine: newer, outputs: newer.pollOutputs(), generation: claimed.generation };
      },
      true,
    );
  }

  #revived(snapshot: string): RunMachine {
    const { config, clock, journal } = this.#shared.setup;
    const machine = RunMachine.revive(snapshot, config, clock.now(), journal !== undefined);
    if (machine.state !== "idle") return machine;
    machine.free();
    throw misuse("the stored turn had not begun", "send its message instead");
  }

  /**
   * Goes on with every unfinished turn of the store that no page drives any more, each on its own thread: with what pages that
   * are gone have left. To be called when the app starts, and as often as it likes after that; turns that are under way are
   * left alone, those of other pages too where the browser has `navigator.locks`. Throws the store's `StoreError`.
   */
  async recover(): Promise<Recovered[]> {
    const { durable } = this.#shared;
    if (!durable) return [];
    const leave = await durable.attend();
    try {
      const orphans = await durable.orphans((thread) => this.#threadOf(thread).current !== undefined);
      return orphans.map(({ key, claimed: { snapshot = "", generation } }) => {
        try {
          const machine = this.#revived(snapshot);
          const run = async () => ({ machine, outputs: machine.pollOutputs(), generation });
          return { key, turn: this.#on(this.#threadOf(key.thread)).#stored(key.turn, undefined, run, true) };
        } catch (error) {
          return { key, error };
        }
      });
    } finally {
      leave();
    }
  }

  /**
   * Cancels the thread's turn, forgets its conversation, and deletes it from the store with all its turns. Whether the store
   * had it. An `Agent` on the thread that is still held is not to be used any more.
   */
  async deleteThread(key: ThreadKey | string): Promise<boolean> {
    const { threads, registry, durable } = this.#shared;
    const [thread, name] = named(key);
    const current = threads.get(name)?.current;
    threads.delete(name);
    registry.remove(thread);
    current?.cancel();
    return durable ? durable.once(() => durable.store.deleteThread(thread)) : false;
  }

  /** Begins a turn that the store has first. */
  #stored(turn: string, signal: AbortSignal | undefined, make: (waiting: Waiting) => Promise<Omit<Run, "writer"> & { generation: number }>, isRevived = false): Turn {
    const { setup, durable } = this.#shared;
    const thread = this.#thread;
    const earlier = thread.current;
    const attended = durable!.attend();
    const begun: Turn = this.#begin(
      async (waiting) => {
        // Not long: it was cancelled, and waits for nothing itself but its last write.
        await earlier?.ended;
        await attended;
        const { generation, ...run } = await make(waiting);
        const key = { thread: thread.key, turn };
        return { ...run, writer: new Writer(durable!, key, generation, () => setup.clock.now(), waiting.warn, begun.cancel) };
      },
      signal,
      isRevived,
      turn,
    );
    void begun.ended.then(() => attended).then((leave) => leave());
    return begun;
  }

  #begin(make: (waiting: Waiting) => Run | Promise<Run>, signal?: AbortSignal, isRevived = false, stored?: string): Turn {
    const { setup, registry } = this.#shared;
    const thread = this.#thread;
    // A stored turn goes on under a new handle, if nobody has taken its thread since.
    const before = isRevived && !thread.current ? registry.current(thread.key) : undefined;
    thread.current?.cancel();
    let handle: RunHandle = before ? registry.replace(before) : registry.register(thread.key).handle;
    const host = {
      setup,
      told: ({ type }: { type: string }) => {
        if (type !== "hopStarted") return;
        try {
          handle = registry.replace(handle);
        } catch {
          // Whoever took the thread over has it: this turn stops.
          queueMicrotask(turn.cancel);
        }
      },
      over: ({ messages, outcome }: Finished, machine?: RunMachine) => {
        if (machine) Object.assign(thread, { messages, sharedState: machine.sharedState, last: stored });
        if (thread.current === turn) thread.current = undefined;
        try {
          registry.complete(handle, outcome);
        } catch {
          // For the registry it was over before.
        }
      },
      messages: () => thread.messages,
      news: () => this.#news(),
    };
    const turn: Turn = new Turn(host, signal);
    thread.current = turn;
    turn.begin(make);
    return turn;
  }

  /** A new run knows nothing of the device. */
  #news(): Input[] {
    const { isInBackground, isOffline, setup } = this.#shared;
    return [
      ...(isInBackground ? [(machine: RunMachine) => machine.enteredBackground(setup.clock.now())] : []),
      ...(isOffline ? [(machine: RunMachine) => machine.networkLost(setup.clock.now())] : []),
    ];
  }

  /** Cancels the turn of this thread that is under way, if there is one. */
  cancel(): void {
    this.#thread.current?.cancel();
  }

  #tellAll(input: (machine: RunMachine, now: number) => ReturnType<Input>): void {
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

/** A thread's key, whole, and as one text. */
function named(given: ThreadKey | string): [Required<ThreadKey>, string] {
  const { server = "", room = "", thread } = typeof given === "string" ? { thread: given } : given;
  return [{ thread, room, server }, JSON.stringify([server, room, thread])];
}
