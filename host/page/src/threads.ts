// The list of sessions: kept current, with marks for those that run and those that have news.
import { signal } from "@preact/signals";
import { ApiError, deleteThread, listThreads, renameThread, type Thread } from "./api";
import { lost, reached, untilRetry } from "./connection";
import { ofBrowser } from "./storage";

export const threads = signal<Thread[] | null>(null);
export const hasMore = signal(false);
/** Whether the sessions are there after the server was started again. */
export const isDurable = signal(true);
/** What the person has seen: of each session, when it was last stored. */
export const seen = signal<Record<string, number>>({});

const SEEN = "stepwell.seen";
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
  threads.value = list.threads;
  hasMore.value = list.next !== null && wanted < MOST;
  isDurable.value = list.durable;
  learnSeen(list.threads);
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

function learnSeen(list: Thread[]): void {
  const kept = ofBrowser.get(SEEN);
  // To a browser that was never here, nothing is news.
  if (kept === null) return writeSeen(Object.fromEntries(list.map((thread) => [thread.threadId, thread.updatedAt])));
  try {
    seen.value = JSON.parse(kept) as Record<string, number>;
  } catch {
    writeSeen({});
  }
}

function writeSeen(all: Record<string, number>): void {
  seen.value = all;
  ofBrowser.set(SEEN, JSON.stringify(all));
}

/** The person looks at the session as it is now. */
export function markSeen(thread: string): void {
  const record = threads.value?.find((other) => other.threadId === thread);
  if (!record || document.hidden || (seen.value[thread] ?? 0) >= record.updatedAt) return;
  const listed = new Set(threads.value?.map((other) => other.threadId));
  const kept = Object.entries(seen.value).filter(([id]) => listed.has(id) || hasMore.value);
  writeSeen({ ...Object.fromEntries(kept), [thread]: record.updatedAt });
}

/** Whether something came to its end that the person has not looked at. */
export function isUnread(thread: Thread): boolean {
  return thread.unfinishedTurn === null && thread.updatedAt > (seen.value[thread.threadId] ?? 0);
}
