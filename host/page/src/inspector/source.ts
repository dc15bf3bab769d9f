// Where the inspector has a turn from: its events from the store, from the first, and its journal if the server keeps one.
import { signal } from "@preact/signals";
import { ApiError, getJournal } from "../api";
import { follow } from "../follow";
import { isEnd, type AgUiEvent } from "../live";
import { server } from "../server";
import { parse, type Journal } from "./journal";

/** So many events are kept; the ones before make room. */
const MOST_EVENTS = 5_000;

/** A journal grows while its turn runs: so long is waited before it is read again, longer each time. */
const PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5_000;

/** A journal is closed soon after its turn's last event: it is looked for so often. */
const LOOKS = 5;

export interface Followed {
  event: AgUiEvent;
  /** When it came here; none of those that were there before the inspector. */
  at: Date | null;
}

/** What there is of a turn, as it comes. */
export class Source {
  readonly events = signal<Followed[]>([]);
  readonly dropped = signal(0);
  readonly journal = signal<Journal | null>(null);
  /** Why there is no journal. */
  readonly missing = signal<string | null>(null);
  /** Whether the turn is over, and its journal is not closed all the same. */
  readonly isCut = signal(false);
  private readonly stop = new AbortController();
  private isOver = false;
  private wake: () => void = () => {};

  constructor(
    readonly thread: string,
    readonly turn: string,
  ) {
    void this.followEvents();
    void this.readJournal();
  }

  close(): void {
    this.stop.abort();
  }

  private async followEvents(): Promise<void> {
    const { signal } = this.stop;
    let isFirst = true;
    const take = (events: AgUiEvent[]): void => {
      // What comes at once with the first is what was there.
      const at = isFirst && events.some(({ type }) => type !== "RUN_STARTED") ? null : new Date();
      isFirst = false;
      const all = [...this.events.value, ...events.map((event) => ({ event, at }))];
      const over = Math.max(0, all.length - MOST_EVENTS);
      this.dropped.value += over;
      this.events.value = all.slice(over);
      if (events.some(isEnd)) this.end();
    };
    try {
      await follow(this.thread, this.turn, take, signal);
    } catch (error) {
      if (!signal.aborted) this.missing.value ??= words(error);
    }
    this.end();
  }

  /** The turn has told its last: its journal is read now. */
  private end(): void {
    this.isOver = true;
    this.wake();
  }

  private pause(milliseconds: number): Promise<void> {
    return new Promise((go) => {
      const timer = setTimeout(go, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        go();
      };
    });
  }

  /** Reads the journal, again and again while the turn runs. */
  private async readJournal(): Promise<void> {
    const { signal } = this.stop;
    if (server.value?.custom?.record === "off") {
      this.missing.value = "This server keeps no journals: it does if it is started with --record full.";
      return;
    }
    let looks = 0;
    let seen = -1;
    let pause = PAUSE_MS;
    while (!signal.aborted) {
      const { length } = this.events.value;
      // Nothing came: nothing is new.
      if (length !== seen || this.isOver) {
        seen = length;
        try {
          this.journal.value = parse(await getJournal(this.thread, this.turn, false, signal));
          this.missing.value = null;
        } catch (error) {
          if (signal.aborted) return;
          if (!(error instanceof ApiError && error.isTransient)) {
            this.missing.value = words(error);
            return;
          }
        }
        if (this.journal.value?.isClosed) return;
      }
      if (this.isOver && ++looks >= LOOKS) {
        this.isCut.value = this.journal.value !== null;
        return;
      }
      await this.pause(this.isOver ? PAUSE_MS : pause);
      pause = Math.min(LONGEST_PAUSE_MS, pause * 1.5);
    }
  }
}

function words(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`.replace(/([.!?])\.$/, "$1");
}
