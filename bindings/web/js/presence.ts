// Which turns are alive: those that this page drives and, by the browser's locks, those of the other pages that share
// its storage. Each stored turn has an owner of its own, so a live page does not keep the turns alive that it has
// released.

import { aborted } from "./waiting.js";

const PREFIX = "stepwell:";

const CANCEL = "cancel";

/** The owners of this page. */
const here = new Map<string, Presence>();

/** The owners of this page that have ended, as long as the browser still lists their locks. */
const ended = new Set<string>();

const locks = (): LockManager | undefined => globalThis.navigator?.locks;

/** The channel by which other pages reach the owner of a turn. Absent without pages: under Node. */
function channelOf(owner: string): BroadcastChannel | undefined {
  const isBrowser = "document" in globalThis || "WorkerGlobalScope" in globalThis;
  return isBrowser && typeof BroadcastChannel === "function" ? new BroadcastChannel(PREFIX + owner) : undefined;
}

/** The owner of one stored turn, alive until `end`, or until its page is gone, however that ends. @internal */
export class Presence {
  readonly owner = crypto.randomUUID();
  #release: (() => void) | undefined;
  readonly #channel = channelOf(this.owner);
  #end!: () => void;
  readonly ended = new Promise<void>((end) => (this.#end = end));

  /** Called when another page, or another agent of this one, cancels the turn. */
  onCancel: () => void = () => {};

  private constructor() {
    here.set(this.owner, this);
    this.#channel?.addEventListener("message", ({ data }) => {
      if (data === CANCEL) this.onCancel();
    });
  }

  /** Returns when the other pages can see the owner. A page without locks counts as the only one. */
  static async begin(): Promise<Presence> {
    const presence = new Presence();
    const { owner } = presence;
    await new Promise<void>((held) => {
      const request = locks()?.request(PREFIX + owner, () => {
        held();
        return new Promise<void>((release) => (presence.#release = release));
      });
      if (!request) return held();
      // A page that may not take locks also counts as the only one.
      request.catch(held).finally(() => ended.delete(owner));
    });
    return presence;
  }

  end(): void {
    here.delete(this.owner);
    this.#channel?.close();
    if (this.#release) {
      ended.add(this.owner);
      this.#release();
    }
    this.#end();
  }

  /** Returns the owners that are alive, of all pages. */
  static async all(): Promise<Set<string>> {
    const { held = [] } = (await locks()?.query()) ?? {};
    const names = held.map(({ name = "" }) => name).filter((name) => name.startsWith(PREFIX));
    const owners = names.map((name) => name.slice(PREFIX.length));
    return new Set([...here.keys(), ...owners.filter((owner) => !ended.has(owner))]);
  }

  /** Asks an owner, in any page, to cancel its turn. Returns when the owner has ended, or `signal` aborts. */
  static async cancel(owner: string, signal: AbortSignal): Promise<void> {
    const own = here.get(owner);
    if (own) own.onCancel();
    else Presence.tell(owner);
    return Presence.ended(owner, signal);
  }

  /** Returns when an owner, in any page, has ended, or `signal` aborts. */
  static async ended(owner: string, signal: AbortSignal): Promise<void> {
    const own = here.get(owner);
    if (own) return Promise.race([own.ended, aborted(signal)]);
    try {
      await locks()?.request(PREFIX + owner, { signal }, () => {});
    } catch {
      // The owner did not end in time.
    }
  }

  /** Asks an owner of another page to cancel its turn, if there still is such a page. */
  static tell(owner: string): void {
    const channel = channelOf(owner);
    channel?.postMessage(CANCEL);
    channel?.close();
  }
}
