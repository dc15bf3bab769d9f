// The list of sessions: kept current, with marks for those that run and those that have news.
import { signal } from "@preact/signals";
import { acknowledge, ApiError, deleteThread, listThreads, renameThread, type Log, type Thread } from "./api";
import { lost, reached, untilRetry } from "./connection";

export const threads = signal<Thread[] | null>(null);
export const hasMore = signal(false);
/** Whether the sessions are there after the server was started again. */
export const isDurable = signal(true);

const PAGE = 50;
const MOST = 200;
const INTERVAL_MS = 3_000;

let wanted = PAGE;
let onChange: () => void = () => {};

/** Other tabs of this browser learn at once that something was done. */
const tabs = "BroadcastChannel" in globalThis ? new BroadcastChannel("stepwell") : undefined;

export async function refresh(): Promise<void> {
  const list = await listThreads(wanted);
  reached();
  threads.value = list.threads.map(known);
  hasMore.value = list.next !== null && wanted < MOST;
  isDurable.value = list.durable;
  onChange();
}

/** Reads the list again, now and in the other tabs. */
export function announceChange(): void {
  tabs?.postMessage("changed");
  void refresh().catch(() => {});
}

/** Keeps the list current, and says when it was read. */
export async function keepCurrent(changed: () => void): Promise<never> {
  onChange = changed;
  const quietly = (): void => void refresh().catch(() => {});
  tabs?.addEventListener("message", quietly);
  addEventListener("focus", quietly);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) quietly();
  });
  const forever = new AbortController().signal;
  for (let failures = 0; ; ) {
    try {
      if (!document.hidden || threads.value === null) await refresh();
      failures = 0;
      await new Promise((go) => setTimeout(go, INTERVAL_MS));
    } catch (error) {
      if (!(error instanceof ApiError) || error.isTransient) lost();
      await untilRetry(failures++, forever);
    }
  }
}

export function showMore(): void {
  wanted = Math.min(MOST, wanted + PAGE);
  void refresh().catch(() => {});
}

/** Whoever searches wants to see all of them. */
export function showAll(): void {
  if (!hasMore.value) return;
  wanted = MOST;
  void refresh().catch(() => {});
}

export async function rename(thread: string, title: string): Promise<void> {
  await renameThread(thread, title);
  announceChange();
}

export async function remove(thread: string): Promise<void> {
  try {
    await deleteThread(thread);
  } catch (error) {
    // It is gone all the same.
    if (!(error instanceof ApiError && error.code === "no_thread")) throw error;
  }
  threads.value = threads.value?.filter((other) => other.threadId !== thread) ?? null;
  announceChange();
}

/** How far each turn was seen here: a list that was read before the server knew of it says less. */
const seen = new Map<string, number>();

function known(thread: Thread): Thread {
  const { threadId, log, latestTurn } = thread;
  const acknowledged = seen.get(`${threadId}/${latestTurn}`);
  if (!log || acknowledged === undefined || (log.acknowledged ?? -1) >= acknowledged) return thread;
  return { ...thread, log: { ...log, acknowledged } };
}

/** The user has seen what a turn has said up to this event. */
export async function markSeen(thread: string, turn: string, acknowledged: number): Promise<void> {
  seen.set(`${thread}/${turn}`, acknowledged);
  threads.value = threads.value?.map(known) ?? null;
  try {
    await acknowledge(thread, turn, acknowledged);
  } catch (error) {
    seen.delete(`${thread}/${turn}`);
    throw error;
  }
  tabs?.postMessage("changed");
}

/** Whether nothing of it is news to the user. */
export function isSeen(log: Log): boolean {
  return log.next === 0 || (log.acknowledged ?? -1) >= log.next - 1;
}

/** Whether something came to its end that the user has not looked at. */
export function isUnread(thread: Thread): boolean {
  return thread.unfinishedTurn === null && thread.log !== null && !isSeen(thread.log);
}
