// A conversation with a model and the page's tools.

import type { OutputDecoder } from "./context.js";
import { refuseUnknownCode } from "./configuration.js";
import { instructions } from "./credentials.js";
import { type Durable, type Known, type Waiting, Writer } from "./durable.js";
import { type Finished, TurnError } from "./finished.js";
import { messageOf, type Said } from "./media.js";
import { RunMachine } from "./machine.js";
import { loaded, misuse, wrong } from "./module.js";
import { type DeepPartial, type Output, changed, outputOf } from "./output.js";
import { Owner, RegistryEvents } from "./owner.js";
import { type AgentOptions, type Setup, setUp } from "./setup.js";
import { Presence } from "./presence.js";
import { RunRegistry } from "./registry.js";
import { titleOf } from "./session.js";
import type { Claimed, Json, Message, OutputType, RegistryEvent, Start, ThreadKey, TurnKey, TurnOptions, WhenBusy } from "./types.js";
import { StoreError } from "./store.js";
import { type Tool, toolsByName } from "./tools.js";
import { type Input, type Run, Turn } from "./turn.js";

interface Thread extends Known {
  key: Required<ThreadKey>;
  current: Turn | undefined;
}

/** The type of an agent's answers, and their decoder, if they are not the agent's own. */
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

/** How a turn begins. */
interface Beginning {
  whenBusy: WhenBusy;
  signal?: AbortSignal | undefined;
  isRevived?: boolean;
  /** The turn, if a store has it. */
  stored?: string;
  /** The tools of this turn only. */
  tools?: Map<string, Tool>;
}

/** The turns under way of all agents that share a registry, by their threads. */
const LIVE_TURNS = new WeakMap<RunRegistry, Map<string, Turn>>();

function liveTurns(registry: RunRegistry): Map<string, Turn> {
  const turns = LIVE_TURNS.get(registry) ?? new Map<string, Turn>();
  LIVE_TURNS.set(registry, turns);
  return turns;
}

/** An unfinished turn of the store that this agent revives. */
export interface Recovered {
  /** The key of the turn. `Agent.thread` with its thread returns the conversation. */
  key: TurnKey;
  /** The turn under way. Absent if it cannot continue. */
  turn?: Turn;
  /** Why the turn cannot continue. It stays unfinished in the store, until a message is sent on its thread. */
  error?: unknown;
}

/**
 * The start of a turn, and the options that differ from its agent's; an option that is left out is as in the agent. The
 * options are stored with the turn, except for the headers and the code of its tools.
 */
export interface SendOptions extends Omit<TurnOptions, "tools"> {
  /** Tools of this turn only. A tool replaces the agent's tool of the same name. */
  tools?: Tool[];
  /** Cancels the turn. */
  signal?: AbortSignal;
}

/** The request for a typed answer. */
export interface RunOptions<T> extends Omit<SendOptions, "output"> {
  /** The type of the answer. */
  output: Output<T>;
  /** Called with what is certain so far, each time that more is: no value is checked yet. */
  onPartial?: (partial: DeepPartial<T>) => void;
}

/**
 * A conversation with a model and the page's tools: a `RunMachine` for each turn, and `fetch` to carry out its
 * requests.
 */
export class Agent {
  readonly #shared: Shared;
  readonly #thread: Thread;
  readonly #output: OwnOutput | undefined;

  /** Throws a `StepwellError` if the configuration does not work. Nothing is sent yet. */
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

  /** Returns the conversation with this key, or a new one, with the same model, tools and store. */
  thread(key: ThreadKey | string): Agent {
    return this.#on(this.#threadOf(key));
  }

  /**
   * Returns the conversation as `thread` does; a new one begins with an earlier conversation, and the state shared with
   * an AG-UI agent.
   */
  threadWithHistory(key: ThreadKey | string, history: Message[], sharedState: Json = {}): Agent {
    new RunMachine(this.#shared.setup.config, named(key)[0].thread, history, sharedState).free();
    return this.#on(this.#threadOf(key, history, sharedState));
  }

  /**
   * Sends a message to the model: a text, texts and media in order (`["What is this?", await image(file)]`), or an
   * AG-UI message. If another turn of this thread is under way, in this page or, with a store, in another one, the turn
   * fails at once with a problem of the kind `busy`. With the option `whenBusy: "cancel"` that other turn is cancelled
   * first.
   */
  send(said: Said, options: SendOptions = {}): Turn {
    return this.#start(saying(said), options);
  }

  /** Starts a turn with ids and a message that the app makes. Its `runId` is the turn's id, unique in the thread. */
  start(start: Start, options: SendOptions = {}): Turn {
    return this.#start(start, options);
  }

  /**
   * Starts a turn that does not follow the thread's last turn: one that follows `parent`, or a first one. The turns
   * that followed `parent` before stay in the store as another branch. Needs an agent with a store.
   */
  branch(parent: string | undefined, start: Start, options: SendOptions = {}): Turn {
    this.#durable();
    return this.#start(start, options, { parent });
  }

  /**
   * Sends a message and waits for the complete answer; throws a `TurnError` if it is incomplete, also if the turn was
   * cancelled.
   */
  async sendAndWait(said: Said, options: SendOptions = {}): Promise<Finished> {
    return whole(this.send(said, options));
  }

  /**
   * Sends a message and returns the answer as a value of a type. An answer that does not fit the type goes back to the
   * model with the path and the reason, twice; then this throws a `TurnError`, with the text kept. Throws at once if
   * the type has no schema.
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
    const { output: value } = await whole(turn);
    return read(value ?? null);
  }

  /**
   * Returns the same conversations, whose turns have answers of this type. This code decodes them; without it the
   * agent's own, if `decodedByHost` is set.
   */
  withOutput(output: OutputType, decoder?: OutputDecoder): Agent {
    const type = { ...output, decodedByHost: decoder !== undefined || (output.decodedByHost ?? false) };
    new RunMachine({ ...this.#shared.setup.config, output: type }, this.#thread.key.thread).free();
    return this.#on(this.#thread, { type, decoder });
  }

  /**
   * Sends another message instead of the one that a stored turn of this thread began with: a new branch, from the
   * conversation before that turn, which stays. Needs an agent with a store; throws its `StoreError`.
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

  #start({ text, parts = [], ...given }: Start, { signal, tools, whenBusy: asked, ...others }: SendOptions, from?: { parent: string | undefined }): Turn {
    const { setup, durable } = this.#shared;
    const whenBusy = this.#whenBusy(asked ?? given.options?.whenBusy);
    if (signal && typeof signal.addEventListener !== "function") throw wrong("`signal` is no `AbortSignal`", "give the `signal` of an `AbortController`");
    refuseUnknownCode(others);
    const own = toolsByName(tools ?? []);
    const options: TurnOptions = { ...given.options, ...others, ...(tools && { tools: tools.map(({ execute: _, ...definition }) => definition) }) };
    // Stored with the turn, so that a revived turn has it.
    if (this.#output) options.output ??= this.#output.type;
    const { config, clock, journal } = setup;
    const thread = this.#thread;
    const { key } = thread;
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
    const beginning = { signal, whenBusy, tools: own };
    if (!durable && !instructionsFrom) return this.#begin(() => started(thread), beginning);
    if (!durable) {
      const make = async ({ signal }: Waiting) => {
        await instructed(thread, signal);
        return started(thread);
      };
      return this.#begin(make, beginning);
    }
    const begin = async (waiting: Waiting, { owner }: Presence) => {
      const { parent, isNew, ...before } = await durable.before(key, from, () => thread, whenBusy, waiting);
      await instructed(before, waiting.signal);
      const run = started(before);
      try {
        // The title of the thread, if this is its first turn.
        const title = parent === undefined ? titleOf(run.machine.messages) : "";
        const said = start.message && { message: start.message };
        // History that no stored turn contains is stored with this one.
        const { messages, sharedState } = before;
        const isUnknown = isNew && (messages.length > 0 || Object.keys(sharedState ?? {}).length > 0);
        const history = { messages: messages as unknown as Json[], state: sharedState };
        const checkpoint = run.machine.checkpoint();
        const kept = { ...(isUnknown && { history }), ...(checkpoint !== undefined && { checkpoint }) };
        const turn = { key: { thread: key, turn: runId }, ...said, owner, ...kept, atMs: clock.now() };
        const generation = await durable.begin({ ...turn, ...(parent !== undefined && { parent }), ...(title && { title }) }, waiting);
        return { ...run, generation };
      } catch (error) {
        run.machine.free();
        throw error;
      }
    };
    return this.#stored(runId, (waiting, presence) => durable.untilFree(whenBusy, () => begin(waiting, presence)), beginning);
  }

  /** Checks the option for another turn of the thread. */
  #whenBusy(given: WhenBusy | undefined): WhenBusy {
    const whenBusy = given ?? this.#shared.setup.config.whenBusy ?? "fail";
    if (whenBusy === "fail" || whenBusy === "cancel") return whenBusy;
    throw wrong(`\`whenBusy\` is \`${whenBusy}\``, "give `fail` or `cancel`");
  }

  /**
   * Continues a turn that `Turn.rested` returned, in this page or a later one, on the thread of the snapshot. An agent
   * with a store continues from the store's data of the turn, which is at least as new.
   */
  revive(snapshot: string, { signal, whenBusy: given }: Pick<SendOptions, "signal" | "whenBusy"> = {}): Turn {
    const { durable } = this.#shared;
    const whenBusy = this.#whenBusy(given);
    const machine = this.#revived(snapshot);
    const thread = { ...this.#thread.key, thread: machine.threadId };
    const on = this.#on(this.#threadOf(thread));
    const beginning = { signal, whenBusy, isRevived: true };
    if (!durable) return on.#begin(() => ({ machine, outputs: machine.pollOutputs() }), beginning);
    const key = { thread, turn: machine.turn };
    return on.#stored(
      key.turn,
      async (waiting, { owner }) => {
        const claimed = await durable.claim(key, owner, whenBusy, waiting);
        if (!claimed) {
          // The turn was begun without this store.
          const begin = () => durable.begin({ key, owner, checkpoint: snapshot, atMs: this.#shared.setup.clock.now() }, waiting);
          const generation = await durable.untilFree("fail", begin);
          return { machine, outputs: machine.pollOutputs(), generation };
        }
        machine.free();
        const newer = claimed.checkpoint === undefined ? this.#revived(snapshot) : await this.#claimed(key, claimed, waiting);
        return { machine: newer, outputs: newer.pollOutputs(), generation: claimed.generation };
      },
      beginning,
    );
  }

  /** The run of a claimed turn. */
  async #claimed(key: TurnKey, claimed: Claimed, waiting: Waiting): Promise<RunMachine> {
    const { config, clock, journal } = this.#shared.setup;
    return this.#shared.durable!.revived(key, claimed, config, clock.now(), waiting, journal !== undefined);
  }

  #revived(snapshot: string): RunMachine {
    const { config, clock, journal } = this.#shared.setup;
    const machine = RunMachine.revive(snapshot, config, clock.now(), journal !== undefined);
    if (machine.state !== "idle") return machine;
    machine.free();
    throw misuse("the stored turn had not begun", "send its message instead");
  }

  /**
   * Revives every unfinished turn of the store that no page drives any more, each on its own thread: turns that closed
   * pages left. Call it when the app starts, and as often as needed after that; turns that are under way are left
   * alone, those of other pages too if the browser has `navigator.locks`. Throws the store's `StoreError`.
   */
  async recover(): Promise<Recovered[]> {
    const { durable } = this.#shared;
    if (!durable) return [];
    const orphans = await durable.orphans((thread) => this.#threadOf(thread).current !== undefined);
    const recovered = orphans.map(async ({ key, claimed, presence }): Promise<Recovered> => {
      try {
        const once: Waiting = { warn: () => {}, trouble: () => {}, signal: AbortSignal.abort() };
        const machine = await this.#claimed(key, claimed, once);
        const run = async () => ({ machine, outputs: machine.pollOutputs(), generation: claimed.generation });
        const beginning: Beginning = { whenBusy: "cancel", isRevived: true };
        return { key, turn: this.#on(this.#threadOf(key.thread)).#stored(key.turn, run, beginning, Promise.resolve(presence)) };
      } catch (error) {
        presence.end();
        return { key, error };
      }
    });
    return Promise.all(recovered);
  }

  /**
   * Cancels the thread's turn, if one is under way, and forgets its conversation: what a store has of the thread stays
   * there. Stop using an `Agent` of the thread that is still held.
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

  /** Forgets the thread, and deletes it from the store with all its turns. Returns whether the store had it. */
  async deleteThread(key: ThreadKey | string): Promise<boolean> {
    this.forgetThread(key);
    const { durable } = this.#shared;
    return durable ? durable.once(() => durable.store.deleteThread(named(key)[0])) : false;
  }

  /** Begins a turn that is stored first. */
  #stored(
    turn: string,
    make: (waiting: Waiting, presence: Presence) => Promise<Omit<Run, "writer"> & { generation: number }>,
    beginning: Beginning,
    attending?: Promise<Presence>,
  ): Turn {
    const { setup, durable } = this.#shared;
    const thread = this.#thread;
    const earlier = this.#others().map((turn) => turn.ended);
    let presence: Presence | undefined;
    const begun: Turn = this.#begin(
      async (waiting) => {
        // Not long: the turn was cancelled, and waits only for its last write.
        await Promise.all(earlier);
        presence = await (attending ?? Presence.begin());
        presence.onCancel = () => {
          waiting.warn("another page cancelled the turn, to send on its thread");
          begun.cancel();
        };
        const { generation, ...run } = await make(waiting, presence);
        const stored = { key: { thread: thread.key, turn }, generation };
        return { ...run, writer: new Writer(durable!, stored, () => setup.clock.now(), { ...waiting, stop: begun.cancel }) };
      },
      { ...beginning, stored: turn },
    );
    void begun.ended.then(() => presence?.end());
    return begun;
  }

  /** The earlier turns of this thread: of this agent, and of another one that shares its registry. */
  #others(): Turn[] {
    const { key, current } = this.#thread;
    const live = liveTurns(this.#shared.registry).get(named(key)[1]);
    return [current, live].filter((turn) => turn !== undefined);
  }

  #begin(make: (waiting: Waiting) => Run | Promise<Run>, { signal, whenBusy, isRevived = false, stored, tools = new Map<string, Tool>() }: Beginning): Turn {
    const { registry } = this.#shared;
    const setup = { ...this.#shared.setup };
    setup.outputDecoder = this.#output?.decoder ?? setup.outputDecoder;
    const thread = this.#thread;
    const live = liveTurns(registry);
    const [, name] = named(thread.key);
    const others = this.#others();
    if (whenBusy === "fail" && others.some((turn) => turn.isUnderWay)) return Turn.refused(setup);
    // A stored turn continues as the run that has its thread, unless another run has taken that since.
    const goesOn = isRevived && !thread.current;
    for (const turn of others) turn.cancel();
    const owner = new Owner(registry, thread.key, goesOn);
    const left = () => {
      if (thread.current === turn) thread.current = undefined;
      if (live.get(name) === turn) live.delete(name);
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
    live.set(name, turn);
    turn.begin(make);
    return turn;
  }

  /** Informs a new run of the device's state. */
  #news(): Input[] {
    const { isInBackground, isOffline, setup } = this.#shared;
    return [
      ...(isInBackground ? [(machine: RunMachine) => machine.enteredBackground(setup.clock.now())] : []),
      ...(isOffline ? [(machine: RunMachine) => machine.networkLost(setup.clock.now())] : []),
    ];
  }

  /**
   * Returns the thread's conversation as the store has it: AG-UI messages, oldest first. Use it for a thread that this
   * page has not sent on yet; from then on `messages` returns the conversation too, as it does without a store. A call
   * without a result still runs, or waits for an answer, perhaps in another page. Throws the store's `StoreError`.
   */
  async load(): Promise<Message[]> {
    const thread = this.#thread;
    const { last } = thread;
    const loaded = await this.#shared.durable?.load(thread.key, last);
    // The conversation of a turn since then is newer.
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

  /**
   * Reports that the app goes to the background; see `DevicePolicy`. Like the following methods, this one applies to
   * the turns of all threads, and to later ones.
   */
  enteredBackground(): void {
    this.#shared.isInBackground = true;
    this.#tellAll((machine, now) => machine.enteredBackground(now));
  }

  /** Reports that the app is in the foreground again. */
  enteredForeground(): void {
    this.#shared.isInBackground = false;
    this.#tellAll((machine, now) => machine.enteredForeground(now));
  }

  /** Reports that the network is gone. */
  networkLost(): void {
    this.#shared.isOffline = true;
    this.#tellAll((machine, now) => machine.networkLost(now));
  }

  /** Reports that there is a network, or that another one replaced it. */
  networkAvailable(): void {
    this.#shared.isOffline = false;
    this.#tellAll((machine, now) => machine.networkAvailable(now));
  }

  /**
   * Follows the browser: whether the page is hidden or shown, and whether there is a network, now and after each
   * change. Returns a function that stops that.
   */
  followDevice(): () => void {
    const stop = new AbortController();
    const { signal } = stop;
    if (globalThis.document?.visibilityState === "hidden") this.enteredBackground();
    if (globalThis.navigator?.onLine === false) this.networkLost();
    const seen = () => (document.visibilityState === "hidden" ? this.enteredBackground() : this.enteredForeground());
    globalThis.document?.addEventListener("visibilitychange", seen, { signal });
    globalThis.addEventListener?.("offline", () => this.networkLost(), { signal });
    globalThis.addEventListener?.("online", () => this.networkAvailable(), { signal });
    return () => stop.abort();
  }

  /**
   * Which threads have a turn under way, what the user looks at, and what is unread. The registry's runs are the
   * agent's turns.
   */
  get registry(): RunRegistry {
    return this.#shared.registry;
  }

  /**
   * Waits for the next event of the turns of all threads: a turn began, continued with another hop, or ended; a thread
   * is unread. Each event goes to one caller only: take them here, or with `takeEvents` of the registry. Only events of
   * turns wake it; a read mark comes with the next of them.
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

/** A thread's key, complete, and as one text. */
function named(given: ThreadKey | string): [Required<ThreadKey>, string] {
  const { server = "", room = "", thread } = typeof given === "string" ? { thread: given } : given;
  return [{ thread, room, server }, JSON.stringify([server, room, thread])];
}

/** Waits for a turn's complete answer. */
async function whole(turn: Turn): Promise<Finished> {
  const finished = await turn.finish();
  if (turn.problem) throw new TurnError(turn.problem, finished);
  return finished;
}

/** Returns the start of a turn with this message of the user. */
function saying(said: Said): Start {
  const runId = crypto.randomUUID();
  return { runId, message: messageOf(runId, said) };
}
