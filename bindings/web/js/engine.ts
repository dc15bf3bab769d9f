// How an agent's turns begin: stored first if there is a store, and one after the other in a conversation.

import { instructions } from "./credentials.js";
import { Durable, Stopped, type Waiting, Writer } from "./durable.js";
import { misuse } from "./error.js";
import { InUse } from "./in-use.js";
import { RunMachine } from "./machine.js";
import { messageOf, type Prompt } from "./media.js";
import { type AnyOptions, runSetup, whenBusyOf } from "./options.js";
import { Owner, RegistryEvents } from "./owner.js";
import { aborted, Presence } from "./presence.js";
import type { RunRegistry } from "./registry.js";
import type { Ended } from "./result.js";
import { titleOf } from "./session.js";
import type { Setup } from "./setup.js";
import type { Store } from "./store.js";
import { named, type Place, Thread } from "./thread.js";
import type { Tool } from "./tools.js";
import { type Host, type Input, type Run, Turn } from "./turn.js";
import type { Claimed, Json, Message, Start, ThreadKey, TurnKey, WhenBusy } from "./types.js";

/** How often a write is tried where there is a store, unless the agent says otherwise. */
const PERSIST_ATTEMPTS = 6;

/** Where a new turn of a stored conversation begins: after a turn, or as a first one. @internal */
export type From = (waiting: Waiting) => Promise<{ parent: string | undefined }>;

/** How a turn begins. */
interface Beginning {
  setup: Setup;
  whenBusy: WhenBusy;
  signal?: AbortSignal | undefined;
  isRevived?: boolean;
  /** The turn, if a store has it. */
  stored?: string;
  /** The tools of this turn only. */
  tools: Map<string, Tool<any>>;
}

type Made = Omit<Run, "writer"> & { generation: number };

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
    this.memory = { setup: { ...setup, config }, durable: undefined, threads: new InUse() };
  }

  /** Where the conversations of a store are kept. */
  place(store: Store | undefined): Place {
    if (!store) return this.memory;
    const known = this.#stores.get(store);
    if (known) return known;
    const { config, clock } = this.setup;
    const setup = { ...this.setup, config: { ...config, persistAttempts: config.persistAttempts ?? PERSIST_ATTEMPTS } };
    const place = { setup, durable: new Durable(store, this.waitForStore, setup.config, clock), threads: new InUse<Thread>() };
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
  send<T>(thread: Thread, prompt: Prompt, options: AnyOptions, from?: From): Turn<T> {
    const { key, place } = thread;
    const { durable } = place;
    const whenBusy = whenBusyOf(options.whenBusy ?? this.whenBusy);
    const { setup, turn: turnOptions, tools, signal, turnId, start: also } = runSetup(place.setup, options);
    const { config, clock, journal } = setup;
    const start: Start = { runId: turnId, ...also, ...(prompt !== null && { message: messageOf(turnId, prompt) }), options: turnOptions };
    const said = start.message && { message: start.message };
    const started = ({ messages, sharedState }: { messages: Message[]; sharedState: Json }) => {
      const machine = new RunMachine(config, key.thread, messages, sharedState, journal !== undefined);
      return { machine, outputs: machine.start(start, clock.now()) };
    };
    const instructed = async ({ messages }: { messages: Message[] }, signal: AbortSignal) => {
      if (!setup.instructionsFrom) return;
      const request = { thread: key, turn: turnId, ...said, messages };
      const made = await instructions(setup.instructionsFrom, request, setup, signal);
      if (made !== undefined) turnOptions.instructions = made;
    };
    const beginning: Beginning = { setup, signal, whenBusy, tools };
    if (!durable && !setup.instructionsFrom) return this.#begin(thread, () => started(thread), beginning);
    if (!durable) {
      const make = async ({ signal }: Waiting) => {
        await instructed(thread, signal);
        return started(thread);
      };
      return this.#begin(thread, make, beginning);
    }
    const begin = async (waiting: Waiting, { owner }: Presence) => {
      const { parent, isNew, ...before } = await durable.before(key, await from?.(waiting), () => thread, whenBusy, waiting);
      await instructed(before, waiting.signal);
      const run = started(before);
      try {
        // The title of the thread, if this is its first turn.
        const title = parent === undefined ? titleOf(run.machine.messages) : "";
        // History that no stored turn contains is stored with this one.
        const { messages, sharedState } = before;
        const isUnknown = isNew && (messages.length > 0 || Object.keys(sharedState ?? {}).length > 0);
        const history = { messages: messages as unknown as Json[], state: sharedState };
        const checkpoint = run.machine.checkpoint();
        const kept = { ...(isUnknown && { history }), ...(checkpoint !== undefined && { checkpoint }) };
        const turn = { key: { thread: key, turn: turnId }, ...said, owner, ...kept, atMs: clock.now() };
        const generation = await durable.begin({ ...turn, ...(parent !== undefined && { parent }), ...(title && { title }) }, waiting);
        return { ...run, generation };
      } catch (error) {
        run.machine.free();
        throw error;
      }
    };
    return this.#stored(thread, turnId, (waiting, presence) => durable.untilFree(whenBusy, () => begin(waiting, presence)), beginning);
  }

  /** Continues a turn that `Turn.rested` returned; the store's data of the turn is at least as new. */
  revive<T>(thread: Thread, snapshot: string, options: AnyOptions): Turn<T> {
    const { durable } = thread.place;
    const { setup, signal, tools } = runSetup(thread.place.setup, options);
    const whenBusy = whenBusyOf(options.whenBusy ?? this.whenBusy);
    const machine = this.#revived(setup, snapshot);
    if (machine.threadId !== thread.key.thread) {
      machine.free();
      throw misuse("the stored turn is of another conversation", "revive it in the conversation with the id that its own had");
    }
    const beginning: Beginning = { setup, signal, whenBusy, tools, isRevived: true };
    if (!durable) return this.#begin(thread, () => ({ machine, outputs: machine.pollOutputs() }), beginning);
    const key = { thread: thread.key, turn: machine.turn };
    const make = async (waiting: Waiting, { owner }: Presence) => {
      const claimed = await durable.claim(key, owner, whenBusy, waiting);
      if (!claimed) {
        // The turn was begun without this store.
        const begin = () => durable.begin({ key, owner, checkpoint: snapshot, atMs: setup.clock.now() }, waiting);
        const generation = await durable.untilFree("error", begin);
        return { machine, outputs: machine.pollOutputs(), generation };
      }
      machine.free();
      const newer = claimed.checkpoint === undefined ? this.#revived(setup, snapshot) : await this.#claimed(durable, setup, key, claimed, waiting);
      return { machine: newer, outputs: newer.pollOutputs(), generation: claimed.generation };
    };
    return this.#stored(thread, key.turn, make, beginning);
  }

  /** The run of a claimed turn. */
  #claimed(durable: Durable, { config, clock, journal }: Setup, key: TurnKey, claimed: Claimed, waiting: Waiting): Promise<RunMachine> {
    return durable.revived(key, claimed, config, clock.now(), waiting, journal !== undefined);
  }

  #revived({ config, clock, journal }: Setup, snapshot: string): RunMachine {
    const machine = RunMachine.revive(snapshot, config, clock.now(), journal !== undefined);
    if (machine.state !== "idle") return machine;
    machine.free();
    throw misuse("the stored turn had not begun", "send its message instead");
  }

  /** Continues the unfinished turns of a store that no page drives. */
  async recover<T>(place: Place, options: AnyOptions): Promise<{ key: TurnKey; thread: Thread; turn?: Turn<T>; error?: unknown }[]> {
    const { durable } = place;
    if (!durable) return [];
    const { setup, tools } = runSetup(place.setup, options);
    const orphans = await durable.orphans((thread) => (place.threads.find(named(thread)[1])?.turns.size ?? 0) > 0);
    return Promise.all(
      orphans.map(async ({ key, claimed, presence }) => {
        const thread = this.thread(place, key.thread);
        try {
          const once: Waiting = { warn: () => {}, trouble: () => {}, signal: AbortSignal.abort() };
          const machine = await this.#claimed(durable, setup, key, claimed, once);
          const run = async () => ({ machine, outputs: machine.pollOutputs(), generation: claimed.generation });
          const beginning: Beginning = { setup, whenBusy: "cancel", tools, isRevived: true };
          return { key, thread, turn: this.#stored<T>(thread, key.turn, run, beginning, Promise.resolve(presence)) };
        } catch (error) {
          presence.end();
          return { key, thread, error };
        }
      }),
    );
  }

  /** Begins a turn that is stored first. */
  #stored<T>(thread: Thread, turn: string, make: (waiting: Waiting, presence: Presence) => Promise<Made>, beginning: Beginning, attending?: Promise<Presence>): Turn<T> {
    const { clock } = beginning.setup;
    const earlier = thread.others().map((turn) => turn.ended);
    let presence: Presence | undefined;
    const begun: Turn<T> = this.#begin(
      thread,
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
        return { ...run, writer: new Writer(thread.place.durable!, stored, () => clock.now(), { ...waiting, stop: begun.cancel }) };
      },
      { ...beginning, stored: turn },
    );
    void begun.ended.then(() => presence?.end());
    return begun;
  }

  #begin<T>(thread: Thread, make: (waiting: Waiting) => Run | Promise<Run>, { setup, signal, whenBusy, isRevived = false, stored, tools }: Beginning): Turn<T> {
    const { registry } = thread;
    const others = thread.others();
    const isBusy = others.some((turn) => turn.isUnderWay);
    if (whenBusy === "error" && isBusy) return Turn.refused(setup);
    const waits = whenBusy === "queue" && isBusy;
    if (!waits) for (const turn of others) turn.cancel();
    // A stored turn continues as the run that has its thread, unless another run has taken that since.
    const owner = () => registry && new Owner(registry, thread.key, isRevived && others.length === 0);
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
        if (machine && thread.turns.has(turn)) Object.assign(thread, { messages, sharedState: machine.sharedState, last: stored });
        left();
        host.owner?.complete(outcome);
      },
      left,
      messages: () => thread.messages,
      news: () => this.#news(setup),
    };
    const queued = async (waiting: Waiting) => {
      await Promise.race([Promise.all(others.map((turn) => turn.ended)), aborted(waiting.signal)]);
      if (waiting.signal.aborted) throw new Stopped();
      host.owner = owner();
      return make(waiting);
    };
    const turn: Turn<T> = new Turn(host, signal);
    thread.add(turn);
    this.turns.add(turn);
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

/** Informs those that wait for a registry's events. @internal */
export const changed = (registry: RunRegistry | undefined): void => registry && RegistryEvents.of(registry).changed();
