// Which turns are alive: those that this page drives and, by the browser's locks, those of the other pages that share
// its storage. Each stored turn has an owner of its own, so a live page does not keep the turns alive that it has
// released.

import { type ErrorDetails, type ErrorKind, StepwellError, words } from "./error.js";
import type { Reply } from "./reply.js";
import { StoreError } from "./store.js";
import { aborted } from "./waiting.js";

const PREFIX = "stepwell:";

const CANCEL = "cancel";

/** A reply to what a turn waits for, as another page sends it. */
interface Sent {
  call: string;
  id: string;
  reply: Reply;
}

/** What the owner of the turn says about it. */
interface Heard {
  heard: string;
  error?: { kind: ErrorKind; message: string; advice: string } & ErrorDetails;
}

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

  /** Called with a reply of another page, or of another agent of this one. Throws if nothing waits for it. */
  onReply: (id: string, reply: Reply) => void = () => {
    throw new StoreError("unavailable", "the turn has not begun");
  };

  private constructor() {
    here.set(this.owner, this);
    this.#channel?.addEventListener("message", ({ data }) => {
      if (data === CANCEL) this.onCancel();
      else if (data.call) this.#channel!.postMessage(this.#heard(data));
    });
  }

  #heard({ call: heard, id, reply }: Sent): Heard {
    try {
      this.onReply(id, reply);
      return { heard };
    } catch (error) {
      if (!(error instanceof StepwellError)) return { heard, error: { kind: "misuse", message: words(error), advice: "look into the page that drives the turn" } };
      const { kind, message, advice, code, retryable } = error;
      return { heard, error: { kind, message, advice, code, retryable } };
    }
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

  /** Passes a reply to the turn of an owner, in any page. Throws what its page says, or that it cannot be reached. */
  static async reply(owner: string, id: string, reply: Reply, tooLate: Promise<unknown>): Promise<void> {
    const own = here.get(owner);
    if (own) return own.onReply(id, reply);
    const channel = channelOf(owner);
    if (!channel) throw new StoreError("unavailable", "another process drives the turn, and cannot be reached from here");
    const call = crypto.randomUUID();
    try {
      await new Promise<void>((taken, refused) => {
        channel.addEventListener("message", ({ data }: { data: Heard }) => {
          if (data.heard !== call) return;
          const { error } = data;
          if (error) refused(new StepwellError(error.kind, error.message, error.advice, error));
          else taken();
        });
        channel.postMessage({ call, id, reply } satisfies Sent);
        void tooLate.then(() => refused(new StoreError("unavailable", "the page that drives the turn does not answer")));
      });
    } finally {
      channel.close();
    }
  }

  /** Asks an owner of another page to cancel its turn, if there still is such a page. */
  static tell(owner: string): void {
    const channel = channelOf(owner);
    channel?.postMessage(CANCEL);
    channel?.close();
  }
}
