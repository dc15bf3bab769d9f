// Whether the server can be reached, as the user is told.
import { signal } from "@preact/signals";

/** `found`: it was lost, and is there again since a moment. `slow`: it has not answered for long. */
export const connection = signal<"ok" | "slow" | "lost" | "found">("ok");

const FOUND_MS = 4_000;
const LONGEST_PAUSE_MS = 5_000;

let forget: ReturnType<typeof setTimeout> | undefined;
let waiting = new Set<() => void>();

/** So long may a request be without an answer before that is said. */
const SLOW_MS = 10_000;
let slowRequests = 0;

/** A request is sent: what is to be called when it has its answer, or has none. */
export function asked(): () => void {
  let isSlow = false;
  const timer = setTimeout(() => {
    isSlow = true;
    slowRequests += 1;
    if (connection.value === "ok") connection.value = "slow";
  }, SLOW_MS);
  return () => {
    clearTimeout(timer);
    if (!isSlow) return;
    slowRequests -= 1;
    if (slowRequests === 0 && connection.value === "slow") connection.value = "ok";
  };
}

export function lost(): void {
  clearTimeout(forget);
  connection.value = "lost";
}

export function reached(): void {
  if (connection.value !== "lost") return;
  connection.value = "found";
  forget = setTimeout(() => (connection.value = "ok"), FOUND_MS);
  tryNow();
}

/** Whoever waits for the next try tries now. */
export function tryNow(): void {
  const all = waiting;
  waiting = new Set();
  all.forEach((go) => go());
}

/** Waits before the next try: longer each time, but not when the network comes back or the user asks for it. */
export function untilRetry(failures: number, signal: AbortSignal): Promise<void> {
  const pause = Math.min(LONGEST_PAUSE_MS, 250 * 2 ** failures) * (0.75 + Math.random() / 2);
  return new Promise((resolve, reject) => {
    const go = (): void => {
      clearTimeout(timer);
      waiting.delete(go);
      signal.removeEventListener("abort", stop);
      resolve();
    };
    const stop = (): void => {
      clearTimeout(timer);
      waiting.delete(go);
      reject(new DOMException("no longer followed", "AbortError"));
    };
    const timer = setTimeout(go, pause);
    waiting.add(go);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

addEventListener("online", tryNow);
