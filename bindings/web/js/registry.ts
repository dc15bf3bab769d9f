// Many runs at once.

import { RegistryCalls } from "./calls.js";
import { answered, made, misuse, written } from "./module.js";
import { Registry } from "./stepwell.js";

/**
 * Which run owns which thread, what the user looks at, and what is unread. It starts nothing and calls nobody back.
 *
 * A thread has one owner at most. Whoever registers takes it over, and the handle before is stale: check the handle with
 * whatever the run's network, tools and timers bring, and drop what comes with a stale one. A call with a stale handle
 * throws a `StepwellError` of the kind `stale`. A mere id names the thread of an app that has one server and no rooms.
 */
export class RunRegistry extends RegistryCalls {
  #registry: Registry | undefined;

  /** A registry with no runs, or a stored one: what `snapshot` gave. */
  constructor(snapshot?: string | null) {
    super();
    this.#registry = made(() => new Registry(snapshot));
  }

  protected call<T>(call: string, fields: object = {}): T {
    if (!this.#registry) throw misuse("the registry was given back with `free`", "make another one, or call `free` later");
    return answered<{ answer: T }>(this.#registry.call(written("the call", { call, ...fields }))).answer;
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
