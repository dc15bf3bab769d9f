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

/** How a turn begins. */
interface Beginning {
  whenBusy: WhenBusy;
  signal?: AbortSignal | undefined;
  isRevived?: boolean;
  /** The turn, if a store has it. */
  stored?: string;
  /** The tools that are the turn's own. */
  tools?: Map<string, Tool>;
}

/** The turns under way of all agents that share a registry, by their threads. */
const LIVE_TURNS = new WeakMap<RunRegistry, Map<string, Turn>>();

function liveTurns(registry: RunRegistry): Map<string, Turn> {
  const turns = LIVE_TURNS.get(registry) ?? new Map<string, Turn>();
  LIVE_TURNS.set(registry, turns);
  return turns;
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
   * If another turn of this thread is under way, in this page or, with a store, in another one, the turn fails at once with
   * a problem of the kind `busy`. With the option `whenBusy: "cancel"` that other turn is cancelled first.
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

  /**
   * Says something and waits for the whole answer; throws a `TurnError` where it is not whole, also since the turn was cancelled.
   */
  async sendAndWait(said: Said, options: SendOptions = {}): Promise<Finished> {
    return whole(this.send(said, options));
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
    const { output: value } = await whole(turn);
    return read(value ?? null);
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

  #start({ text, parts = [], ...given }: Start, { signal, tools, whenBusy: asked, ...others }: SendOptions, from?: { parent: string | undefined }): Turn {
    const { setup, durable } = this.#shared;
    const whenBusy = this.#whenBusy(asked ?? given.options?.whenBusy);
    if (signal && typeof signal.addEventListener !== "function") throw wrong("`signal` is no `AbortSignal`", "give the `signal` of an `AbortController`");
    refuseUnknownCode(others);
    const own = toolsByName(tools ?? []);
    const options: TurnOptions = { ...given.options, ...others, ...(tools && { tools: tools.map(({ execute: _, ...definition }) => definition) }) };
    // Stored with the turn, so that one which comes back has it.
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
        // What the thread is called, if this is its first turn.
        const title = parent === undefined ? titleOf(run.machine.messages) : "";
        const said = start.message && { message: start.message };
        // What the store has no turns of is stored with this one.
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

  /** Checks what a turn is told to do with another one of its thread. */
  #whenBusy(given: WhenBusy | undefined): WhenBusy {
    const whenBusy = given ?? this.#shared.setup.config.whenBusy ?? "fail";
    if (whenBusy === "fail" || whenBusy === "cancel") return whenBusy;
    throw wrong(`\`whenBusy\` is \`${whenBusy}\``, "give `fail` or `cancel`");
  }

  /**
   * Goes on with a turn that `Turn.rested` gave, in this page or a later one, on the thread of the snapshot. An agent with a
   * store goes on from what that has of the turn, which is at least as new.
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
          // It was begun without this store.
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
   * Goes on with every unfinished turn of the store that no page drives any more, each on its own thread: with what pages that
   * are gone have left. To be called when the app starts, and as often as it likes after that; turns that are under way are
   * left alone, those of other pages too where the browser has `navigator.locks`. Throws the store's `StoreError`.
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

  /** Begins a turn that the store has first. */
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
        // Not long: it was cancelled, and waits for nothing itself but its last write.
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

  /** The turns of this thread that were begun before: of this agent, and of another one that shares its registry. */
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
    // A stored turn goes on as the run that has its thread, if nobody has taken that since.
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
   * then on `messages` gives it too, which is what an agent without a store has. A call without a result still runs, or waits
   * for an answer, perhaps in another page. Throws the store's `StoreError`.
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

  /**
   * Follows the browser: whether the page is hidden or shown, and whether there is a network, as it is now and whenever it
   * changes. Returns what stops that.
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

/** Waits for a turn's whole answer. */
async function whole(turn: Turn): Promise<Finished> {
  const finished = await turn.finish();
  if (turn.problem) throw new TurnError(turn.problem, finished);
  return finished;
}

/** A new turn in which the user says this. */
function saying(said: Said): Start {
  const runId = crypto.randomUUID();
  return { runId, message: messageOf(runId, said) };
}
