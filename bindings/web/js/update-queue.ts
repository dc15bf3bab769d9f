// The updates of a turn that no loop has taken yet.

import { misuse } from "./error.js";
import type { Update } from "./update.js";

/** The source of a loop over a turn's updates. @internal */
export class UpdateQueue {
  #updates: Update[] = [];
  /** Whether a loop takes the updates. */
  #isRead = false;
  #waiting: (() => void)[] = [];

  get isRead(): boolean {
    return this.#isRead;
  }

  add(update: Update): void {
    const last = this.#updates.at(-1);
    // Of what nobody has taken yet, the last that a tool says of itself counts.
    const isSaid = update.type === "toolProgress" || update.type === "toolPartialResult";
    if (isSaid && last?.type === update.type && last.toolCallId === update.toolCallId) this.#updates.pop();
    this.#updates.push(update);
    this.wake();
  }

  /** Takes all updates. */
  takeAll(): Update[] {
    return this.#updates.splice(0);
  }

  /** The updates until the turn has ended: `hasEnded` throws what went wrong. `left` is called when the loop is over. */
  async *read(hasEnded: () => boolean, left: () => void): AsyncGenerator<Update, void, void> {
    if (this.#isRead) throw misuse("another loop takes the updates of this turn", "read them in one loop, and wait for the end elsewhere by `turn.result`");
    this.#isRead = true;
    try {
      for (;;) {
        const update = this.#updates.shift();
        if (update) yield update;
        else if (hasEnded()) return;
        else await this.news();
      }
    } finally {
      this.#isRead = false;
      left();
      this.wake();
    }
  }

  /** Waits until there are updates, the turn is over, or a loop over it has ended. */
  news(): Promise<void> {
    return new Promise((wake) => this.#waiting.push(wake));
  }

  wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
