// The owners of threads.

import { RegistryCalls } from "./calls.js";
import { misuse } from "./error.js";
import { answered, made, written } from "./module.js";
import { Owner, RegistryEvents } from "./owner.js";
import { Registry } from "./stepwell.js";
import type { RegistryEvent, ThreadKey } from "./types.js";

/**
 * The runs of an app: which run owns which thread, what the user looks at, and what is unread. It makes no callbacks.
 *
 * A thread has at most one owner. Registering a run takes the thread over and makes the previous handle stale: check
 * the handle of everything that the run's network, tools and timers bring, and drop what has a stale handle. A call
 * with a stale handle throws a `StepwellError` of the kind `misuse` and the code `stale`. For an app with one server and no rooms, an id
 * alone names the thread.
 */
export class RunRegistry extends RegistryCalls {
  #registry: Registry | undefined;

  /** Creates a registry with no runs, or restores one from what `snapshot` returned. */
  constructor(snapshot?: string | null) {
    super();
    this.#registry = made(() => new Registry(snapshot));
  }

  protected call<T>(call: string, fields: object = {}): T {
    if (!this.#registry) throw misuse("the registry was given back with `free`", "make another one, or call `free` later");
    return answered<{ answer: T }>(this.#registry.call(written("the call", { call, ...fields }))).answer;
  }

  /**
   * Waits for the next event of the turns of all conversations: a turn began, continued with another hop, or ended; a
   * conversation is unread. Each event goes to one caller only: take them here, or with `takeEvents`. Only events of
   * turns wake it; a read mark comes with the next of them.
   */
  nextEvent(): Promise<RegistryEvent> {
    return RegistryEvents.of(this).next();
  }

  /** Informs those that wait for events. @internal */
  changed(): void {
    RegistryEvents.of(this).changed();
  }

  /** A turn's hold on its thread. @internal */
  own(thread: ThreadKey, continues: boolean): Owner {
    return new Owner(this, thread, continues);
  }

  /** Frees the registry's memory at once; otherwise it is freed when the registry is collected. */
  free(): void {
    this.#registry?.free();
    this.#registry = undefined;
  }

  /** As `free`, at the end of a `using`. */
  [Symbol.dispose](): void {
    this.free();
  }
}
