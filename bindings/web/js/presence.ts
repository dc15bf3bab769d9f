// Who is there of those that own turns: in this page, and by the browser's locks in the others that share its storage.

const PREFIX = "stepwell:";

/** The owners of this page. */
const here = new Set<string>();

const locks = (): LockManager | undefined => globalThis.navigator?.locks;

/** Tells the other pages that the owner is there, until what is given is called. A page without locks is taken for the only one. */
function hold(owner: string): Promise<() => void> {
  return new Promise((held) => {
    const request = locks()?.request(PREFIX + owner, () => new Promise<void>((release) => held(release)));
    if (request) request.catch(() => held(() => {}));
    else held(() => {});
  });
}

/** The sign that an owner is there, while any of its turns is under way. It ends with the page, however that ends. */
export class Presence {
  #times = 0;
  #held: Promise<() => void> | undefined;

  constructor(readonly owner: string) {}

  /** Gives what ends it. */
  async attend(): Promise<() => void> {
    this.#times += 1;
    here.add(this.owner);
    const held = (this.#held ??= hold(this.owner));
    await held;
    return () => {
      this.#times -= 1;
      if (this.#times > 0) return;
      here.delete(this.owner);
      this.#held = undefined;
      void held.then((release) => release());
    };
  }

  /** Those of all pages. */
  static async all(): Promise<Set<string>> {
    const { held = [] } = (await locks()?.query()) ?? {};
    const names = held.map(({ name = "" }) => name).filter((name) => name.startsWith(PREFIX));
    return new Set([...here, ...names.map((name) => name.slice(PREFIX.length))]);
  }
}
