// Many runs at once.

import { answered, made, misuse, written } from "./module.js";
import { Registry } from "./stepwell.js";
import type { Outcome, Registered, RegistryEvent, RunHandle, ThreadKey } from "./types.js";

type Thread = ThreadKey | string;

const keyOf = (thread: Thread): ThreadKey => (typeof thread === "string" ? { server: "", room: "", thread } : thread);

/**
 * Which run owns which thread, what the user looks at, and what is unread. It starts nothing and calls nobody back.
 *
 * A thread has one owner at most. Whoever registers takes it over, and the handle before is stale: check the handle with
 * whatever the run's network, tools and timers bring, and drop what comes with a stale one. A call with a stale handle
 * throws a `StepwellError` of the kind `stale`. A mere id names the thread of an app that has one server and no rooms.
 */
export class RunRegistry {
  #registry: Registry | undefined;

  /** A registry with no runs, or a stored one: what `snapshot` gave. */
  constructor(snapshot?: string | null) {
    this.#registry = made(() => new Registry(snapshot));
  }

  #call<T>(call: string, fields: object = {}): T {
    if (!this.#registry) throw misuse("the registry was given back with `free`", "make another one, or call `free` later");
    return answered<{ answer: T }>(this.#registry.call(written("the call", { call, ...fields }))).answer;
  }

  /** The registry as text, to be stored. */
  snapshot(): string {
    return this.#call("snapshot");
  }

  /** A new run takes the thread over, whatever ran there. */
  register(thread: Thread): Registered {
    return this.#call("register", { thread: keyOf(thread) });
  }

  /** The run goes on under a new handle, with the hop raised, if `old` still owns the thread. */
  replace(old: RunHandle): RunHandle {
    return this.#call("replace", { handle: old });
  }

  /** Whether what came with the handle may be given to its run; throws if not. */
  check(handle: RunHandle): void {
    this.#call("check", { handle });
  }

  /** The run is over. Marks its thread unread if the user does not look at it. */
  complete(handle: RunHandle, outcome: Outcome): void {
    this.#call("complete", { handle, outcome });
  }

  /** The app could not dispose of a run. That undoes nothing; it is said as an event. */
  disposalFailed(handle: RunHandle, message: string): void {
    this.#call("disposalFailed", { handle, message });
  }

  /** The run that owns the thread. */
  current(thread: Thread): RunHandle | undefined {
    return this.#call<RunHandle | null>("current", { thread: keyOf(thread) }) ?? undefined;
  }

  /** All runs that own a thread, in the order of their threads' keys. */
  running(): RunHandle[] {
    return this.#call("running");
  }

  /** The user looks at this thread now, or at none. It is no longer unread. */
  lookAt(thread?: Thread | null): void {
    this.#call("lookAt", { thread: thread == null ? null : keyOf(thread) });
  }

  /** The thread that the user looks at. */
  get lookedAt(): ThreadKey | undefined {
    return this.#call<ThreadKey | null>("lookedAt") ?? undefined;
  }

  /** Whether a run has ended in the thread since the user last looked at it. */
  unread(thread: Thread): boolean {
    return this.#call("unread", { thread: keyOf(thread) });
  }

  /** All unread threads, in the order of their keys. */
  unreadThreads(): ThreadKey[] {
    return this.#call("unreadThreads");
  }

  /** Forgets the thread. A run that owned it is now stale, and given back: cancel it and dispose of it. */
  remove(thread: Thread): RunHandle | undefined {
    return this.#call<RunHandle | null>("remove", { thread: keyOf(thread) }) ?? undefined;
  }

  /** Takes the events that wait, in order: each goes to one caller. */
  takeEvents(): RegistryEvent[] {
    return this.#call("takeEvents");
  }

  /** Gives the registry's memory back at once; else it is given back when the registry is collected. */
  free(): void {
    this.#registry?.free();
    this.#registry = undefined;
  }

  /** As `free`, at the end of a `using`. */
  [Symbol.dispose](): void {
    this.free();
  }
}
