// How an agent's turns begin: stored first if there is a store, and one after the other in a conversation.

import { instructions } from "./credentials.js";
import { misuse, nothingWaits, StepwellError, words } from "./error.js";
import type { Transcript } from "./durable.js";
import { InUse } from "./in-use.js";
import { RunMachine } from "./machine.js";
import { health, loadHealth } from "./model-number.js";
import { messageOf, type Prompt } from "./media.js";
import { type AnyOptions, type RunSetup, runSetup, whenBusyOf } from "./options.js";
import type { Presence } from "./presence.js";
import type { RunRegistry } from "./registry.js";
import type { Reply } from "./reply.js";
import type { Ended } from "./result.js";
import type { Setup } from "./setup.js";
import type { Store } from "./store.js";
import type { Beginner, Claim, Continuing, Made, StoredTurns } from "./stored.js";
import { named, type Place, Thread } from "./thread.js";
import type { Tool } from "./tools.js";
import { type Host, type Input, type Run, Turn } from "./turn.js";
import type { Json, Message, Start, ThreadKey, UserMessage, WhenBusy } from "./types.js";
import { aborted, Busy, Steered, Stopped, type Waiting } from "./waiting.js";

/** How often a write is tried where there is a store, unless the agent says otherwise. */
const PERSIST_ATTEMPTS = 6;

/** How a turn begins. */
interface Beginning {
  setup: Setup;
  whenBusy: WhenBusy;
  signal?: AbortSignal | undefined;
  /** What the user says. */
  message?: UserMessage | undefined;
  isRevived?: boolean;
  /** The turn, if a store has it. */
  turn?: string;
  /** The tools of this turn only. */
  tools: Map<string, Tool<any>>;
}

/** Begins the turns of an agent, and knows those that are under way. @internal */
export class Engine {
  readonly turns = new Set<Turn<any>>();
  /** The conversations in the page's memory. */
  readonly memory: Place;
  readonly #stores = new WeakMap<Store, Place>();
  #isInBackground = false;
  #isOffline = false;

  constructor(
    readonly setup: Setup,
    readonly registry: RunRegistry | undefined,
    private readonly waitForStore: boolean,
    private readonly whenBusy: WhenBusy,
  ) {
    const { persistAttempts: _, ...config } = setup.config;
    this.memory = { setup: { ...setup, config }, stored: undefined, threads: new InUse() };
  }

  /** Where the conversations of a store are kept. */
  place(store: Store | undefined): Place {
    if (!store) return this.memory;
    const known = this.#stores.get(store);
    if (known) return known;
    const { config } = this.setup;
    const setup = { ...this.setup, config: { ...config, persistAttempts: config.persistAttempts ?? PERSIST_ATTEMPTS } };
    let loading: Promise<StoredTurns> | undefined;
    const load = async () => {
      try {
        const { StoredTurns } = await import("./stored.js");
        return new StoredTurns(store, this.waitForStore, setup);
      } catch (error) {
        loading = undefined;
        throw new StepwellError("connection", `the package's part for stores cannot be loaded: ${words(error)}`, "check that the app's files can be reached", { retryable: true, cause: error });
      }
    };
    const place: Place = { setup, stored: () => (loading ??= load()), threads: new InUse<Thread>() };
    // While there is a network.
    place.stored?.().catch(() => {});
    this.#stores.set(store, place);
    return place;
  }

  /** The conversation of this key: the same as long as it is in use. */
  thread(place: Place, given: ThreadKey | string, history?: Message[], sharedState?: Json): Thread {
    const [key, name] = named(given);
    return place.threads.get(name, () => {
      if (history || sharedState !== undefined) new RunMachine(place.setup.config, key.thread, history, sharedState).free();
      return new Thread(key, place, this.registry, history, sharedState);
    });
  }

  /** A conversation of one turn, which nothing finds. */
  once(): Thread {
    return new Thread(named(crypto.randomUUID())[0], this.memory, undefined);
  }

  /** Begins a turn with what the user says. */
  send<T>(thread: Thread, prompt: Prompt, options: AnyOptions, from?: Beginner["from"]): Turn<T> {
    const { key, place } = thread;
    const whenBusy = whenBusyOf(options.whenBusy ?? this.whenBusy);
    const { setup, turn: turnOptions, tools, signal, turnId, start: also } = runSetup(place.setup, options);
    const { config, clock, journal } = setup;
    const message = prompt === null ? undefined : messageOf(turnId, prompt);
    const said = message && { message };
    const start: Start = { runId: turnId, ...also, ...said, options: turnOptions };
    const started = ({ messages, sharedState, compaction }: Transcript) => {
      const machine = new RunMachine(config, key.thread, messages, sharedState, !!journal, compaction);
      health.record?.tellRests(setup, machine);
      return { machine, outputs: machine.start(start, clock.now()) };
    };
    const hasFallback = config.fallback!.models!.length > 0;
    const instructed = async ({ messages }: { messages: Message[] }, signal: AbortSignal) => {
      if (hasFallback) await loadHealth();
      if (!setup.instructionsFrom) return;
      const request = { thread: key, turn: turnId, ...said, messages };
      const made = await instructions(setup.instructionsFrom, request, setup, signal);
      if (made !== undefined) turnOptions.instructions = made;
    };
    const beginning: Beginning = { setup, signal, message, whenBusy, tools };
    if (place.stored) {
      const beginner: Beginner = { key, turn: turnId, said, from, whenBusy, known: () => thread, instructed, started };
      return this.#stored(thread, turnId, (stored, waiting, presence) => stored.begin(beginner, waiting, presence), beginning);
    }
    if (!setup.instructionsFrom && (health.record || !hasFallback)) return this.#begin(thread, () => started(thread), beginning);
    const make = async ({ signal }: Waiting) => {
      await instructed(thread, signal);
      return started(thread);
    };
    return this.#begin(thread, make, beginning);
  }

  /** Continues a turn that `Turn.rested` returned; the store's data of the turn is at least as new. */
  revive<T>(thread: Thread, snapshot: string, options: AnyOptions): Turn<T> {
    const { setup, signal, tools } = runSetup(thread.place.setup, options);
    const whenBusy = whenBusyOf(options.whenBusy ?? this.whenBusy);
    const machine = this.#revived(setup, snapshot);
    if (machine.threadId !== thread.key.thread) {
      machine.free();
      throw misuse("the stored turn is of another conversation", "revive it in its own");
    }
    const beginning: Beginning = { setup, signal, whenBusy, tools, isRevived: true };
    if (!thread.place.stored) return this.#begin(thread, () => ({ machine, outputs: machine.pollOutputs() }), beginning);
    const { turn } = machine;
    return this.#stored(thread, turn, (stored, waiting, presence) => stored.revive(machine, snapshot, thread.key, setup, whenBusy, waiting, presence), beginning);
  }

  #revived({ config, clock, journal }: Setup, snapshot: string): RunMachine {
    const machine = RunMachine.revive(snapshot, config, clock.now(), journal !== undefined);
    if (machine.state !== "idle") return machine;
    machine.free();
    throw misuse("the stored turn had not begun", "send its message instead");
  }

  /** Continues the unfinished turns of a store that no page drives. */
  async recover<T>(place: Place, options: AnyOptions): Promise<Continuing<T>[]> {
    const stored = await place.stored?.();
    return stored?.recover<T>(this, (key) => this.thread(place, key), runSetup(place.setup, options)) ?? [];
  }

  /**
   * Passes a reply to the turn of a conversation that waits for it, in whichever page that is. If no page drives the turn,
   * it continues here, and is returned.
   */
  async reply<T>(thread: Thread, id: string, reply: Reply, options: AnyOptions): Promise<Turn<T> | undefined> {
    const { live, place } = thread;
    if (live) return void live.reply(id, reply);
    const stored = await place.stored?.();
    if (!stored) throw nothingWaits();
    return stored.reply<T>(this, thread, id, reply, runSetup(place.setup, options));
  }

  /** Continues a turn that no page drove, and that was claimed. */
  continue<T>(thread: Thread, { turn, made, presence }: Claim, { setup, tools }: RunSetup): Turn<T> {
    return this.#stored(thread, turn, async () => made, { setup, whenBusy: "cancel", tools, isRevived: true }, presence);
  }

  /** Begins a turn that is stored first. */
  #stored<T>(thread: Thread, turn: string, make: (stored: StoredTurns, waiting: Waiting, presence: Presence) => Promise<Made>, beginning: Beginning, attending?: Presence): Turn<T> {
    const earlier = thread.others().map((turn) => turn.ended);
    const begun: Turn<T> = this.#begin(
      thread,
      async (waiting) => {
        const stored = await thread.place.stored!();
        // Not long: the turn was cancelled, and waits only for its last write.
        await Promise.all(earlier);
        return stored.attend({ key: { thread: thread.key, turn } }, begun, waiting, (presence) => make(stored, waiting, presence), attending);
      },
      { ...beginning, turn },
    );
    return begun;
  }

  #begin<T>(thread: Thread, make: (waiting: Waiting) => Run | Promise<Run>, { setup, signal, message, whenBusy, isRevived = false, turn: last, tools }: Beginning): Turn<T> {
    const { registry } = thread;
    const others = thread.others();
    const isBusy = others.some((turn) => turn.isUnderWay);
    const waits = whenBusy !== "cancel" && isBusy;
    // It did not begin, and has nothing of the conversation, which may be another user's.
    const isRefused = waits && whenBusy === "error";
    if (!waits) for (const turn of others) turn.cancel();
    // A stored turn continues as the run that has its thread, unless another run has taken that since.
    const owner = () => registry?.own(thread.key, isRevived && others.length === 0);
    const left = () => {
      thread.remove(turn);
      this.turns.delete(turn);
    };
    const host: Host = {
      setup,
      owner: waits ? undefined : owner(),
      isRevived,
      tools,
      over: ({ messages, outcome }: Ended, machine?: RunMachine) => {
        // Of a conversation that was forgotten meanwhile nothing is kept.
        if (machine && thread.turns.has(turn)) Object.assign(thread, { messages, sharedState: machine.sharedState, compaction: machine.compaction, last });
        left();
        host.owner?.complete(outcome);
      },
      left,
      messages: () => (isRefused ? [] : thread.messages),
      news: () => this.#news(setup),
    };
    const queued = async (waiting: Waiting) => {
      if (isRefused) throw new Busy();
      const steered = whenBusy === "steer" && message ? thread.live : undefined;
      try {
        steered?.steer(message!);
      } catch {
        // It takes no message now: the new turn waits for its end.
      }
      await Promise.race([Promise.all(others.map((turn) => turn.ended)), aborted(waiting.signal)]);
      if (waiting.signal.aborted) throw new Stopped();
      if (steered?.end?.messages.some(({ id }) => id === message!.id)) throw new Steered(steered.end);
      host.owner = owner();
      return make(waiting);
    };
    const turn: Turn<T> = new Turn(host, signal);
    if (!isRefused) {
      thread.add(turn);
      this.turns.add(turn);
    }
    turn.begin(waits ? queued : make);
    return turn;
  }

  /** Informs a new run of the device's state. */
  #news({ clock }: Setup): Input[] {
    return [
      ...(this.#isInBackground ? [(machine: RunMachine) => machine.enteredBackground(clock.now())] : []),
      ...(this.#isOffline ? [(machine: RunMachine) => machine.networkLost(clock.now())] : []),
    ];
  }

  #tellAll(input: (machine: RunMachine, now: number) => ReturnType<Input>): void {
    for (const turn of [...this.turns]) turn.tell((machine) => input(machine, this.setup.clock.now()));
  }

  /** Informs the turns that the app went to the background, or came back from it. */
  background(isInBackground: boolean): void {
    this.#isInBackground = isInBackground;
    this.#tellAll((machine, now) => (isInBackground ? machine.enteredBackground(now) : machine.enteredForeground(now)));
  }

  /** Informs the turns that the network is gone, or there again. */
  network(isOffline: boolean): void {
    this.#isOffline = isOffline;
    this.#tellAll((machine, now) => (isOffline ? machine.networkLost(now) : machine.networkAvailable(now)));
  }
}
