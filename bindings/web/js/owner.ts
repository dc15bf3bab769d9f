// The owner of a thread: a turn's hold on it in the registry, and the registry's events.

import type { RunRegistry } from "./registry.js";
import type { Outcome, RegistryEvent, RunHandle, ThreadKey } from "./types.js";

/** The events of a registry, each for one caller of any agent. @internal */
export class RegistryEvents {
  static readonly #all = new WeakMap<RunRegistry, RegistryEvents>();
  /** Events that were taken together with one that a caller waited for. */
  readonly #events: RegistryEvent[] = [];
  readonly #waiting: ((event: RegistryEvent) => void)[] = [];

  private constructor(private readonly registry: RunRegistry) {}

  /** The events of a registry: the same object for all agents that share it. */
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

  /** Reports that there may be events. They are not taken if no caller waits. */
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

  /** Continues the run that has the thread, for a turn that continues. */
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

  /** Whether the call is accepted. It is not, if another run has the thread. */
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

  /** Continues the turn with its next hop, if the thread is still its own. */
  goOn(): boolean {
    const goesOn = this.#does((handle) => (this.#handle = this.registry.replace(handle)));
    this.#events.changed();
    return goesOn;
  }

  /** Ends the turn. For the registry, a turn that lost its thread was over before. */
  complete(outcome: Outcome): void {
    this.#does((handle) => this.registry.complete(handle, outcome));
    this.#events.changed();
  }
}
