// Whose a thread is: a turn's hold on it in the registry, and what that tells of all threads.

import type { RunRegistry } from "./registry.js";
import type { Outcome, RegistryEvent, RunHandle, ThreadKey } from "./types.js";

/** The events of a registry, each for one caller, whichever agent it asks. @internal */
export class RegistryEvents {
  static readonly #all = new WeakMap<RunRegistry, RegistryEvents>();
  /** Taken out for somebody, and one too many. */
  readonly #events: RegistryEvent[] = [];
  readonly #waiting: ((event: RegistryEvent) => void)[] = [];

  private constructor(private readonly registry: RunRegistry) {}

  /** Those of a registry: the same for all agents that share it. */
  static of(registry: RunRegistry): RegistryEvents {
    const events = RegistryEvents.#all.get(registry) ?? new RegistryEvents(registry);
    RegistryEvents.#all.set(registry, events);
    return events;
  }

  next(): Promise<RegistryEvent> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.changed();
    });
  }

  /** There may be events. Nobody takes them whom nobody waits for. */
  changed(): void {
    if (this.#waiting.length === 0) return;
    this.#events.push(...this.registry.takeEvents());
    while (this.#waiting.length > 0 && this.#events.length > 0) this.#waiting.shift()!(this.#events.shift()!);
  }
}

/** A turn's hold on its thread. @internal */
export class Owner {
  #handle: RunHandle;
  readonly #events: RegistryEvents;

  /** A turn that goes on takes the place of the run that has the thread. */
  constructor(
    private readonly registry: RunRegistry,
    thread: ThreadKey,
    goesOn: boolean,
  ) {
    const before = goesOn ? registry.current(thread) : undefined;
    this.#handle = before ? registry.replace(before) : registry.register(thread).handle;
    this.#events = RegistryEvents.of(registry);
    this.#events.changed();
  }

  /** Whether the call is taken. It is not, if another run has the thread. */
  #does(call: (handle: RunHandle) => void): boolean {
    try {
      call(this.#handle);
    } catch {
      return false;
    }
    return true;
  }

  /** Whether the thread is still the turn's. */
  holds(): boolean {
    return this.#does((handle) => this.registry.check(handle));
  }

  /** The turn goes on with its next hop, if the thread is still its own. */
  goOn(): boolean {
    const goesOn = this.#does((handle) => (this.#handle = this.registry.replace(handle)));
    this.#events.changed();
    return goesOn;
  }

  /** The turn is over. One that lost its thread was over for the registry before. */
  complete(outcome: Outcome): void {
    this.#does((handle) => this.registry.complete(handle, outcome));
    this.#events.changed();
  }
}
