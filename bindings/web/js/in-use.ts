// Objects that are found again by their names as long as they are in use: nothing of one that was let go of is kept.

/** A map that does not keep its values alive. @internal */
export class InUse<Value extends object> {
  readonly #values = new Map<string, WeakRef<Value>>();
  readonly #gone = new FinalizationRegistry<string>((name) => {
    if (!this.#values.get(name)?.deref()) this.#values.delete(name);
  });

  /** The value of this name; a new one if none is in use. */
  get(name: string, make: () => Value): Value {
    const known = this.#values.get(name)?.deref();
    if (known) return known;
    const value = make();
    this.#values.set(name, new WeakRef(value));
    this.#gone.register(value, name);
    return value;
  }

  /** The number of names. */
  get size(): number {
    return this.#values.size;
  }
}
