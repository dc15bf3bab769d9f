// The events of a turn that nobody has taken yet.

import { misuse } from "./error.js";
import type { RunEvent } from "./types.js";

/** What a loop over a turn's events takes them from. @internal */
export class EventQueue {
  #events: RunEvent[] = [];
  /** Whether a loop takes the events. */
  #isRead = false;
  #waiting: (() => void)[] = [];

  get isRead(): boolean {
    return this.#isRead;
  }

  add(event: RunEvent): void {
    const last = this.#events.at(-1);
    // Of what nobody has taken yet, the last that a tool says of itself counts.
    const isSaid = event.type === "toolProgress" || event.type === "toolPartialResult";
    if (isSaid && last?.type === event.type && last.toolCallId === event.toolCallId) this.#events.pop();
    this.#events.push(event);
    this.wake();
  }

  /** Takes all events. */
  takeAll(): RunEvent[] {
    return this.#events.splice(0);
  }

  /** The events until the turn has ended: `hasEnded` throws what went wrong. `left` is called when the loop is over. */
  async *read(hasEnded: () => boolean, left: () => void): AsyncGenerator<RunEvent, void, void> {
    if (this.#isRead) throw misuse("another loop takes the events of this turn", "read them in one loop, and wait for the end elsewhere by `turn.result`");
    this.#isRead = true;
    try {
      for (;;) {
        const event = this.#events.shift();
        if (event) yield event;
        else if (hasEnded()) return;
        else await this.news();
      }
    } finally {
      this.#isRead = false;
      left();
      this.wake();
    }
  }

  /** Waits until there are events, the turn is over, or a loop over it has ended. */
  news(): Promise<void> {
    return new Promise((wake) => this.#waiting.push(wake));
  }

  wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
