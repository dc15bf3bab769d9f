// Follows a turn's events, over every connection that breaks.
import { createParser } from "eventsource-parser";
import { ApiError, openEvents } from "./api";
import { isEnd, type AgUiEvent } from "./live";
import { lost, reached, untilRetry } from "./connection";

/** Nothing at all for so long, not even a comment: the connection is dead, whatever the browser thinks. */
const SILENCE_MS = 60_000;

/**
 * Follows a turn to its end, from its first event. What came in one piece is handed over in one piece.
 * @returns the number of its last event; none where there is no such turn
 * @throws if `signal` aborts
 */
export async function follow(
  thread: string,
  turn: string,
  onEvents: (events: AgUiEvent[]) => void,
  signal: AbortSignal,
): Promise<number | null> {
  let last: string | null = null;
  for (let failures = 0; ; failures++) {
    const connection = new AbortController();
    const abort = (): void => connection.abort();
    signal.addEventListener("abort", abort);
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = (): void => {
      clearTimeout(silence);
      silence = setTimeout(abort, SILENCE_MS);
    };
    try {
      heard();
      const response = await openEvents(thread, turn, last, connection.signal);
      reached();
      let batch: AgUiEvent[] = [];
      const parser = createParser({
        onEvent: ({ id, data }) => {
          batch.push(JSON.parse(data) as AgUiEvent);
          last = id ?? last;
        },
      });
      const decoder = new TextDecoder();
      const reader = response.body!.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        heard();
        parser.feed(decoder.decode(value, { stream: true }));
        if (batch.length === 0) continue;
        failures = 0;
        const events = batch;
        batch = [];
        onEvents(events);
        if (events.some(isEnd)) return numberOf(last);
      }
    } catch (error) {
      if (signal.aborted) throw error;
      if (error instanceof ApiError && error.status === 404) return null;
      if (error instanceof ApiError && !error.isTransient) throw error;
    } finally {
      clearTimeout(silence);
      signal.removeEventListener("abort", abort);
      connection.abort();
    }
    lost();
    await untilRetry(failures, signal);
  }
}

/** An event's id is that of the turn, a colon, and its number. */
function numberOf(id: string | null): number | null {
  return id === null ? null : Number(id.slice(id.lastIndexOf(":") + 1));
}
