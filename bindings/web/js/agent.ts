// A conversation with a model and the page's tools.

import type { OutputDecoder } from "./context.js";
import { instructions } from "./credentials.js";
import { type Durable, type Known, type Waiting, Writer } from "./durable.js";
import { type Finished, TurnError } from "./finished.js";
import { messageOf, type Said } from "./media.js";
import { RunMachine } from "./machine.js";
import { loaded, misuse, wrong } from "./module.js";
import { type DeepPartial, type Output, changed, outputOf } from "./output.js";
import { Owner, RegistryEvents } from "./owner.js";
import { type AgentOptions, type Setup, setUp } from "./setup.js";
import { RunRegistry } from "./registry.js";
import { titleOf } from "./session.js";
import type { Json, Message, OutputType, RegistryEvent, Start, ThreadKey, TurnKey, TurnOptions, WhenBusy } from "./types.js";
import { StoreError } from "./store.js";
import { type Tool, toolsByName } from "./tools.js";
import { Busy, type Input, type Run, Turn } from "./turn.js";

interface Thread extends Known {
  key: Required<ThreadKey>;
  current: Turn | undefined;
}

/** What the turns of an agent answer, and what decodes that, where that is not the agent's own. */
interface OwnOutput {
  type: OutputType;
  decoder: OutputDecoder | undefined;
}

interface Shared {
  setup: Setup;
  durable: Durable | undefined;
  registry: RunRegistry;
  threads: Map<string, Thread>;
  isInBackground: boolean;
  isOffline: boolean;
}

/** An unfinished turn of the store that goes on here. */
export interface Recovered {
  /** The turn. `Agent.thread` with its thread gives the conversation. */
  key: TurnKey;
  /** The turn under way. Absent if it cannot go on. */
  turn?: Turn;
  /** Why it cannot go on. It stays unfinished in the store, until somebody sends on its thread. */
  error?: unknown;
}

/**
 * How a turn is begun, and what it has otherwise than its agent; what is left out is as there. It is stored with the turn, but
 * for the headers and the code of its tools.
 */
export interface SendOptions extends Omit<TurnOptions, "tools"> {
  /** Tools of this turn's own. One takes the place of the agent's tool of its name. */
  tools?: Tool[];
  /** Cancels the turn. */
  signal?: AbortSignal;
}

/** How a typed answer is asked for. */
export interface RunOptions<T> extends Omit<SendOptions, "output"> {
  /** What the answer is. */
  output: Output<T>;
  /** Is told what is certain so far, each time that more is: nothing of it is checked yet. */
  onPartial?: (partial: DeepPartial<T>) => void;
}

/** A conversation with a model and the page's tools: a `RunMachine` for each turn, and `fetch` to carry out what it asks for. */
export class Agent {
  readonly #shared: Shared;
  readonly #thread: Thread;
  readonly #output: OwnOutput | undefined;

  /** Throws a `StepwellError` where the configuration does not work. Nothing is sent yet. */
  constructor(options: AgentOptions);
  constructor(options: AgentOptions | Shared, thread?: Thread, output?: OwnOutput) {
    if (thread) {
      this.#shared = options as Shared;
      this.#thread = thread;
      this.#output = output;
      return;
    }
    loaded();
    if (typeof options !== "object" || options === null) throw wrong("an `Agent` is made of options", "give an object with its `provider`");
    const { threadId = crypto.randomUUID(), history = [], sharedState = {}, registry, ...rest } = options as AgentOptions;
    const { setup, durable } = setUp(rest);
    new RunMachine(setup.config, threadId, history, sharedState).free();
    this.#shared = { setup, durable, registry: registry ?? new RunRegistry(), threads: new Map(), isInBackground: false, isOffline: false };
    this.#thread = this.#threadOf(threadId, history, sharedState);
  }

  #threadOf(given: ThreadKey | string, messages: Message[] = [], sharedState: Json = {}): Thread {
    const [key, name] = named(given);
    const known = this.#shared.threads.get(name) ?? { key, messages, sharedState, last: undefined, current: undefined };
    this.#shared.threads.set(name, known);
    return known;
  }

  #on(thread: Thread, output = this.#output): Agent {
    return new (Agent as unknown as new (shared: Shared, thread: Thread, output?: OwnOutput) => Agent)(this.#shared, thread, output);
  }

  /** Another conversation with the same model, tools and store: the one that goes by this key, or a new one. */
  thread(key: ThreadKey | string): Agent {
    return this.#on(this.#threadOf(key));
  }

  /** As `thread`; a new one begins with an earlier conversation, and the state shared with an AG-UI agent. */
  threadWithHistory(key: ThreadKey | string, history: Message[], sharedState: Json = {}): Agent {
    new RunMachine(this.#shared.setup.config, named(key)[0].thread, history, sharedState).free();
    return this.#on(this.#threadOf(key, history, sharedState));
  }

  /**
   * Says something to the model: a text, texts and media in order (`["What is this?", await image(file)]`), or an AG-UI message.
   * If another turn of this thread is under way, the turn fails at once as `busy`, unless `whenBusy` is `cancel`.
   */
  send(said: Said, options: SendOptions = {}): Turn {
    return this.#start(saying(said), options);
  }

  /** Starts a turn with ids and a message of the app's own. Its `runId` is the turn's id, unique in the thread. */
  start(start: Start, options: SendOptions = {}): Turn {
    return this.#start(start, options);
  }

  /**
   * Starts a turn that does not come after the thread's last one: after `parent`, or as a first one. What the user said is
   * said otherwise, and the turns that came of it before stay in the store as another branch. For an agent with a store.
   */
  branch(parent: string | undefined, start: Start, options: SendOptions = {}): Turn {
    this.#durable();
    return this.#start(start, options, { parent });
  }

  /** Says something and waits for the whole answer; throws a `TurnError` where it is not whole. */
  async sendAndWait(said: Said, options: SendOptions = {}): Promise<Finished> {
    const finished = await this.send(said, options).finish();
    const { problem } = finished.outcome;
    if (problem) throw new TurnError(problem, finished);
    return finished;
  }

  /**
   * Says something and gives the answer as a value of a type. What does not fit the type goes back to the model with the path
   * and the reason, twice; then it throws a `TurnError`, with the text kept. Throws at once where the type has no schema.
   */
  async run<T>(said: Said, { output, onPartial, ...options }: RunOptions<T>): Promise<T> {
    const { asked, read } = outputOf(output);
    const turn = this.withOutput(asked, asked.decodedByHost ? read : undefined).send(said, options);
    if (onPartial) {
      let partial: Json = null;
      for await (const event of turn) {
        if (event.type !== "partialOutput") continue;
        partial = event.changes.reduce(changed, partial);
        onPartial(partial as DeepPartial<T>);
      }
    }
    const finished = await turn.finish();
    const { problem } = finished.outcome;
    if (problem) throw new TurnError(problem, finished);
    return read(finished.output ?? null);
  }

  /**
   * The same conversations, whose turns have answers of this type. They are decoded by this code; without any by the agent's own,
   * if `decodedByHost` says so.
   */
  withOutput(output: OutputType, decoder?: OutputDecoder): Agent {
    const type = { ...output, decodedByHost: decoder !== undefined || (output.decodedByHost ?? false) };
    new RunMachine({ ...this.#shared.setup.config, output: type }, this.#thread.key.thread).free();
    return this.#on(this.#thread, { type, decoder });
  }

  /**
   * Says something else in the place of what a stored turn of this thread began with: another branch, from the conversation
   * before that turn, which stays. For an agent with a store; throws its `StoreError`.
   */
  async resend(turn: string, said: Said, options: SendOptions = {}): Promise<Turn> {
    const durable = this.#durable();
    const { key: thread } = this.#thread;
    const earlier = await durable.once(() => durable.store.turn({ thread, turn }));
    if (!earlier) throw new StoreError("noTurn", `the store has no turn \`${turn}\` in this thread`);
    return this.#start(saying(said), options, { parent: earlier.parent });
  }

  #durable(): Durable {
    const { durable } = this.#shared;
    if (durable) return durable;
    throw misuse("the agent has no store to take the earlier turn from", "give it a `store`");
  }

  #start({ text, parts = [], ...given }: Start, { signal, tools, whenBusy, ...others }: SendOptions, from?: { parent: string | undefined }): Turn {
    const { setup, durable } = this.#shared;
    if (signal && typeof signal.addEventListener !== "function") throw wrong("`signal` is no `AbortSignal`", "give the `signal` of an `AbortController`");
    const own = toolsByName(tools ?? []);
    const options: TurnOptions = { ...given.options, ...others, ...(tools && { tools: tools.map(({ execute: _, ...definition }) => definition) }) };
    // Stored with the turn, so that one which comes back has it.
    if (this.#output) options.output ??= this.#output.type;
    const { config, clock, journal } = setup;
    const thread = this.#thread;
    const { key } = thread;
    if (this.#isBusy(whenBusy)) return this.#refused();
    const { runId, message } = given;
    if ((text !== undefined || parts.length > 0) && message) throw misuse("a turn starts with `text` or with `message`, not with both", "leave one of them out");
    const said: Start = text === undefined && parts.length === 0 ? given : { ...given, message: messageOf(runId, parts.length === 0 ? text! : [text ?? "", ...parts]) };
    const start: Start = { ...said, options };
    const started = ({ messages, sharedState }: { messages: Message[]; sharedState: Json }) => {
      const machine = new RunMachine(config, key.thread, messages, sharedState, journal !== undefined);
      return { machine, outputs: machine.start(start, clock.now()) };
    };
    const { instructionsFrom } = options.instructions === undefined ? setup : { instructionsFrom: undefined };
    const instructed = async ({ messages }: { messages: Message[] }, signal: AbortSignal) => {
      if (!instructionsFrom) return;
      const said = start.message && { message: start.message };
      const request = { thread: key, turn: runId, ...said, messages };
      const made = await instructions(instructionsFrom, request, setup, signal);
      if (made !== undefined) options.instructions = made;
    };
    if (!durable && !instructionsFrom) return this.#begin(() => started(thread), signal, false, undefined, own);
    if (!durable) {
      const make = async ({ signal }: Waiting) => {
        await instructed(thread, signal);
        return started(thread);
      };
      return this.#begin(make, signal, false, undefined, own);
    }
    const make = async (waiting: Waiting) => {
      const { parent, ...before } = await durable.before(key, from, () => thread, waiting);
      await instructed(before, waiting.signal);
      const run = started(before);
      // What the thread is called, if this is its first turn.
      const title = parent === undefined ? titleOf(run.machine.messages) : "";
      const said = start.message && { message: start.message };
      const turn = { key: { thread: key, turn: runId }, ...said, snapshot: run.machine.snapshot(), atMs: clock.now() };
      const generation = await durable.begin({ ...turn, ...(parent !== undefined && { parent }), ...(title && { title }) }, waiting);
      return { ...run, generation };
    };
    return this.#stored(runId, signal, make, false, own);
  }

  /**
   * Goes on with a turn that `Turn.rested` gave, in this page or a later one, on the thread of the snapshot. An agent with a
   * store goes on from what that has of the turn, which is at least as new.
   */
  revive(snapshot: string, { signal, whenBusy }: SendOptions = {}): Turn {
    const { durable } = this.#shared;
    const machine = this.#revived(snapshot);
    const thread = { ...this.#thread.key, thread: machine.threadId };
    const on = this.#on(this.#threadOf(thread));
    if (on.#isBusy(whenBusy)) {
      machine.free();
      return on.#refused();
    }
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
   * Cancels the thread's turn, if one is under way, and forgets its conversation: what a store has of it stays there. An `Agent`
   * on the thread that is still held is not to be used any more.
   */
  forgetThread(key: ThreadKey | string): void {
    const { threads, registry } = this.#shared;
    const [thread, name] = named(key);
    const current = threads.get(name)?.current;
    threads.delete(name);
    registry.remove(thread);
    current?.cancel();
    RegistryEvents.of(registry).changed();
  }

  /** Forgets the thread, and deletes it from the store with all its turns. Whether the store had it. */
  async deleteThread(key: ThreadKey | string): Promise<boolean> {
    this.forgetThread(key);
    const { durable } = this.#shared;
    return durable ? durable.once(() => durable.store.deleteThread(named(key)[0])) : false;
  }

  /** Whether another turn keeps one from this thread. */
  #isBusy(whenBusy: WhenBusy = this.#shared.setup.config.whenBusy ?? "fail"): boolean {
    return whenBusy === "fail" && this.#thread.current?.isUnderWay === true;
  }

  /** A turn that has failed, since another one is under way. It has nothing of the conversation, which may be another user's. */
  #refused(): Turn {
    const { setup } = this.#shared;
    const nothing = () => {};
    const owner = { goOn: () => false, holds: () => true };
    const turn = new Turn({ setup, owner, isRevived: false, tools: new Map(), over: nothing, left: nothing, messages: () => [], news: () => [] });
    turn.begin(() => Promise.reject(new Busy()));
    return turn;
  }

  /** Begins a turn that the store has first. */
  #stored(turn: string, signal: AbortSignal | undefined, make: (waiting: Waiting) => Promise<Omit<Run, "writer"> & { generation: number }>, isRevived = false, tools?: Map<string, Tool>): Turn {
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
        const stored = { key: { thread: thread.key, turn }, generation };
        return { ...run, writer: new Writer(durable!, stored, () => setup.clock.now(), { ...waiting, stop: begun.cancel }) };
      },
      signal,
      isRevived,
      turn,
      tools,
    );
    void begun.ended.then(() => attended).then((leave) => leave());
    return begun;
  }

  #begin(make: (waiting: Waiting) => Run | Promise<Run>, signal?: AbortSignal, isRevived = false, stored?: string, tools = new Map<string, Tool>()): Turn {
    const { registry } = this.#shared;
    const setup = { ...this.#shared.setup };
    setup.outputDecoder = this.#output?.decoder ?? setup.outputDecoder;
    const thread = this.#thread;
    // A stored turn goes on as the run that has its thread, if nobody has taken that since.
    const goesOn = isRevived && !thread.current;
    thread.current?.cancel();
    const owner = new Owner(registry, thread.key, goesOn);
    const left = () => {
      if (thread.current === turn) thread.current = undefined;
    };
    const host = {
      setup,
      owner,
      isRevived,
      tools,
      over: ({ messages, outcome }: Finished, machine?: RunMachine) => {
        if (machine) Object.assign(thread, { messages, sharedState: machine.sharedState, last: stored });
        left();
        owner.complete(outcome);
      },
      left,
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

  /**
   * The thread's conversation as the store has it: AG-UI messages, oldest first. For one that this page has not sent on yet; from
   * then on `messages` gives it too, which is what an agent without a store has. Throws the store's `StoreError`.
   */
  async load(): Promise<Message[]> {
    const thread = this.#thread;
    const { last } = thread;
    const loaded = await this.#shared.durable?.load(thread.key, last);
    // What a turn has put there meanwhile is newer.
    if (loaded?.last !== undefined && thread.last === last) Object.assign(thread, loaded);
    return loaded?.messages ?? thread.messages;
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

  /**
   * Waits for what next happens to the turns of all threads: a turn began, goes on with another hop, is over; a thread is
   * unread. Each event goes to one caller: take them here, or with `takeEvents` of the registry. It wakes for those that turns
   * made; a read mark comes with the next of them.
   */
  nextRegistryEvent(): Promise<RegistryEvent> {
    return RegistryEvents.of(this.#shared.registry).next();
  }

  /** The conversation's id, with its server and room. */
  get threadKey(): Required<ThreadKey> {
    return this.#thread.key;
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

/** A new turn in which the user says this. */
function saying(said: Said): Start {
  const runId = crypto.randomUUID();
  return { runId, message: messageOf(runId, said) };
}
