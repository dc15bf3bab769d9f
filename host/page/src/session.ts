// The session that is shown, and what the user does in it.
import { batch, computed, signal } from "@preact/signals";
import {
  answerTurn,
  ApiError,
  cancelCall,
  cancelTurn,
  getThread,
  startTurn,
  type Answer,
  type Branch,
  type Log,
  type NewTurn,
} from "./api";
import { announce, announceTurn } from "./announce";
import { offered, runCalls } from "./client_tools";
import { lost, reached, untilRetry } from "./connection";
import { follow } from "./follow";
import { apply, type AgUiEvent } from "./live";
import { newId, place, goTo } from "./place";
import { model, models } from "./server";
import { announceChange, isSeen, markSeen, threads } from "./threads";
import { turnsOf, type Content, type Turn } from "./view";

/** The turns of the path that is shown, the oldest first. */
export const turns = signal<Turn[]>([]);
/** All turns of the session. */
export const branches = signal<Branch[]>([]);
export const state = signal<"new" | "loading" | "ready" | "gone" | "failed">("new");
/** What went wrong with what the user did last. */
export const problem = signal<string | null>(null);
/** The turn that another message took the place of, sent in another tab or by another program. */
export const displaced = signal<string | null>(null);
/** The turn whose stop was asked for. */
export const stopping = signal<string | null>(null);

/** The turn under way, if that is the last one shown. */
export const running = computed(() => {
  const last = turns.value.at(-1);
  return last?.status === "streaming" ? last : null;
});

/** All compactions of the path that is shown. */
export const compactions = computed(() => turns.value.flatMap((turn) => turn.compactions));

/** The place of the last one that takes those before it away. */
export const lastUndone = computed(() => compactions.value.findLastIndex(({ undone }) => undone));

/** The compaction that holds for the next turn. */
export const standing = computed(() => {
  const last = compactions.value.at(-1);
  return last?.undone ? null : (last ?? null);
});

/** Whether the next turn is sent with the complete conversation. */
export const sendsAll = signal(false);

export const title = computed(() => {
  const thread = threads.value?.find((other) => other.threadId === place.value.thread);
  return thread?.title ?? "";
});

/** What belongs to the session that is shown: it ends when another one is. */
let showing = new AbortController();
/** When the session was last stored, as far as it is shown. */
let shownAt = 0;
/** The turn at the end of what is shown, if it is over. */
let shownEnd: { thread: string; turn: string; log: Log } | null = null;
/** Whether the list had the session that is shown. */
let isListed = false;

/** Shows what the address names. */
export async function show(): Promise<void> {
  showing.abort();
  showing = new AbortController();
  const { signal } = showing;
  const { thread } = place.value;
  shownEnd = null;
  isListed = false;
  batch(() => {
    problem.value = null;
    displaced.value = null;
    stopping.value = null;
    sendsAll.value = false;
    turns.value = [];
    branches.value = [];
    state.value = thread === null ? "new" : "loading";
  });
  if (thread !== null) await load(signal);
}

/** Reads the session, and follows the turn that is under way. */
async function load(signal: AbortSignal): Promise<void> {
  const { thread, turn } = place.value;
  if (thread === null) return;
  try {
    for (let failures = 0; ; failures++) {
      try {
        const detail = await getThread(thread, turn, signal);
        reached();
        const before = turns.value.at(-1);
        batch(() => {
          turns.value = merged(turns.value, turnsOf(detail.session));
          branches.value = detail.turns;
          state.value = "ready";
        });
        const now = turns.value.at(-1);
        noteDisplaced(before, now);
        // It ended before its events could be followed.
        if (before && before.id === now?.id && before.status === "streaming" && now !== before) announceTurn(before, now);
        shownAt = detail.thread.updatedAt;
        const log = detail.turns.find((branch) => branch.id === now?.id)?.log;
        shownEnd = now && log && now.status !== "streaming" ? { thread, turn: now.id, log } : null;
        break;
      } catch (error) {
        if (signal.aborted || (error instanceof ApiError && !error.isTransient)) throw error;
        lost();
        await untilRetry(failures, signal);
      }
    }
    markShown();
    const open = running.value;
    if (open) await followTurn(thread, open.id, signal);
  } catch (error) {
    if (signal.aborted) return;
    const isGone = error instanceof ApiError && error.status === 404;
    state.value = isGone ? "gone" : "failed";
    if (!isGone) problem.value = words(error);
  }
}

/** The user's turn gave way to another that did not come from here. */
function noteDisplaced(before: Turn | undefined, now: Turn | undefined): void {
  if (begun === null || before?.id !== begun || stopped === begun) return;
  if (now?.id !== begun) {
    const isLate = cancelled?.turn === begun && Date.now() - cancelled.at > GIVES_WAY_MS;
    if (before.status === "streaming" || (before.status === "cancelled" && !isLate)) displaced.value = begun;
  } else if (now.status === "cancelled" && cancelled?.turn !== begun) {
    cancelled = { turn: begun, at: Date.now() };
  }
}

/** A turn that gives way is stopped so long before the other one is there. */
const GIVES_WAY_MS = 15_000;

/** The user looks at what is shown. */
function markShown(): void {
  const end = shownEnd;
  if (!end || document.hidden || isSeen(end.log)) return;
  // Said once; where that fails, the next time that the list is read.
  shownEnd = null;
  markSeen(end.thread, end.turn, end.log.next - 1).catch(() => {
    if (shownEnd === null && place.value.thread === end.thread && !running.value) shownEnd = end;
  });
}

/** What is stored, but of the turn under way what was shown of it: its events come from the first. */
function merged(before: Turn[], stored: Turn[]): Turn[] {
  return stored.map((turn) => {
    if (turn.status !== "streaming") return turn;
    const known = before.find((other) => other.id === turn.id && other.status === "streaming");
    return known ?? { ...turn, messages: turn.messages.filter((message) => message.role === "user"), compactions: [] };
  });
}

/** The turn that was begun here last, and the one that was stopped here. */
let begun: string | null = null;
let stopped: string | null = null;
/** When a turn that was begun here was seen to be cancelled, and nothing came after it yet. */
let cancelled: { turn: string; at: number } | null = null;

let followed: string | null = null;

async function followTurn(thread: string, id: string, signal: AbortSignal): Promise<void> {
  if (followed === `${thread}/${id}`) return;
  followed = `${thread}/${id}`;
  // Its events make it anew, so it begins with what the user said.
  let live: Turn | undefined = turns.value.at(-1);
  if (!live) return;
  live = { ...live, messages: live.messages.filter((message) => message.role === "user"), questions: [], compactions: [] };
  const take = (events: AgUiEvent[]): void => {
    live = events.reduce(apply, live!);
    runCalls(thread, live);
    draw();
  };
  // One drawing a frame, however the events come.
  let isDue = false;
  const drawNow = (): void => {
    if (!isDue || signal.aborted || !live) return;
    isDue = false;
    announceTurn(turns.value.at(-1), live);
    turns.value = [...turns.value.slice(0, -1), live];
  };
  const draw = (): void => {
    if (isDue) return;
    isDue = true;
    // A tab that is not shown has no frames.
    if (document.hidden) setTimeout(drawNow, 250);
    else requestAnimationFrame(drawNow);
  };
  let end: number | null = null;
  try {
    end = await follow(thread, id, take, signal);
  } finally {
    if (followed === `${thread}/${id}`) followed = null;
  }
  // What is stored comes next, and no late frame may put this over it.
  drawNow();
  // Whoever goes elsewhere now has seen the end.
  if (end !== null && !signal.aborted && !document.hidden) markSeen(thread, id, end).catch(() => {});
  await new Promise((go) => setTimeout(go, 0));
  if (signal.aborted) return;
  stopping.value = null;
  announceChange();
  await load(signal);
}

/** The list was read: whatever another tab or another user did is shown. */
export function compare(): void {
  const { thread, turn } = place.value;
  if (thread === null || state.value === "loading") return;
  const record = threads.value?.find((other) => other.threadId === thread);
  if (!record) {
    // It was deleted, or others are newer by now: the server says which.
    if (isListed && state.value === "ready" && !starting) void load(showing.signal);
    isListed = false;
    return;
  }
  isListed = true;
  markShown();
  if (running.value || followed || starting || record.updatedAt <= shownAt) return;
  if (turn !== null && record.unfinishedTurn === null) {
    shownAt = record.updatedAt;
    return;
  }
  void load(showing.signal);
}

// Calls that waited for a tab that is looked at.
document.addEventListener("visibilitychange", () => {
  const { thread } = place.value;
  if (thread !== null && running.value) runCalls(thread, running.value);
});

let starting = false;

/**
 * Starts a turn. What the user said is shown at once.
 * @returns whether it was started
 */
async function start(parent: string | null, message: Content | undefined): Promise<boolean> {
  const thread = place.value.thread ?? newId();
  const turnId = newId();
  showing.abort();
  showing = new AbortController();
  const { signal } = showing;
  const before = turns.value;
  const path = parent === null ? [] : before.slice(0, before.findIndex((turn) => turn.id === parent) + 1);
  const said = message === undefined ? [] : [{ id: `${turnId}-user`, role: "user" as const, content: message, calls: [], isOpen: false }];
  const turn: Turn = { id: turnId, parent, status: "streaming", createdAt: Date.now(), messages: said, questions: [], compactions: [] };
  starting = true;
  begun = turnId;
  batch(() => {
    problem.value = null;
    displaced.value = null;
    stopping.value = null;
    turns.value = [...path, turn];
    state.value = "ready";
  });
  try {
    const id = `${turnId}-user`;
    const asked = model.value === null || model.value === models.value[0] ? {} : { model: model.value };
    const given = message === undefined ? {} : { message: typeof message === "string" ? message : { id, role: "user" as const, content: message } };
    const whole = sendsAll.value ? { wholeHistory: true } : {};
    await begin(thread, { turnId, parent, tools: offered(), ...asked, ...whole, ...given }, signal);
    sendsAll.value = false;
  } catch (error) {
    if (signal.aborted) return false;
    batch(() => {
      turns.value = before;
      state.value = before.length > 0 ? "ready" : "new";
      problem.value = words(error);
    });
    if (before.length > 0) void load(signal);
    return false;
  } finally {
    starting = false;
  }
  if (signal.aborted) return true;
  goTo(thread, null, true);
  announceChange();
  void load(signal);
  return true;
}

/** Starts a turn, over a connection that breaks too. */
async function begin(thread: string, turn: NewTurn, signal: AbortSignal): Promise<void> {
  for (let failures = 0; ; failures++) {
    try {
      await startTurn(thread, turn);
      return reached();
    } catch (error) {
      // The answer to an earlier try was lost.
      if (failures > 0 && error instanceof ApiError && error.code === "turn_exists") return;
      if (!(error instanceof ApiError) || error.status !== 0 || failures >= 5) throw error;
      lost();
      await untilRetry(failures, signal);
    }
  }
}

/** The user says something more. */
export function say(message: Content): Promise<boolean> {
  return start(turns.value.at(-1)?.id ?? null, message);
}

/** The user says something else in the place of what they said: a turn beside the one that it was. */
export function sayAnew(turn: Turn, message: Content | undefined): Promise<boolean> {
  return start(turn.parent, message);
}

/** The same once more. */
export function retry(turn: Turn): Promise<boolean> {
  const said = turn.messages.find((message) => message.role === "user");
  return sayAnew(turn, said?.content);
}

/** The model goes on from where the turn was ended. */
export function goOn(turn: Turn): Promise<boolean> {
  return start(turn.id, undefined);
}

export async function stop(): Promise<void> {
  const turn = running.value;
  const { thread } = place.value;
  if (!turn || thread === null || stopping.value === turn.id) return;
  stopping.value = turn.id;
  stopped = turn.id;
  announce("Stopping.");
  try {
    await cancelTurn(thread, turn.id);
  } catch (error) {
    stopping.value = null;
    if (!(error instanceof ApiError && error.code === "turn_over")) problem.value = words(error);
  }
}

/** Stops one call of the turn under way. */
export async function stopCall(turn: string, call: string): Promise<void> {
  const { thread } = place.value;
  if (thread === null) return;
  announce("Stopping the tool.");
  try {
    await cancelCall(thread, turn, call);
  } catch (error) {
    // It was done already: the events say so.
    if (!(error instanceof ApiError && ["no_call", "turn_over"].includes(error.code))) problem.value = words(error);
  }
}

/** Answers a question of the turn under way. */
export async function answer(turn: string, given: Answer): Promise<string | null> {
  const { thread } = place.value;
  if (thread === null) return null;
  try {
    await answerTurn(thread, turn, given);
    return null;
  } catch (error) {
    // Somebody else answered, or stopped it: the events say so.
    if (error instanceof ApiError && error.code === "turn_over") return null;
    return words(error);
  }
}

/** The turns that stand beside this one, in the order in which they began. */
export function siblings(turn: Turn): Branch[] {
  const all = branches.value.filter((branch) => (branch.parent ?? null) === turn.parent);
  return all.sort((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1));
}

/** Shows the newest path through this turn. */
export function showBranch(branch: Branch): void {
  let leaf = branch;
  for (;;) {
    const next = branches.value.filter((other) => other.parent === leaf.id);
    const newest = next.sort((one, other) => other.createdAt - one.createdAt)[0];
    if (!newest) break;
    leaf = newest;
  }
  const newest = branches.value.reduce((one, other) => (other.createdAt > one.createdAt ? other : one), leaf);
  goTo(place.value.thread, newest.id === leaf.id ? null : leaf.id);
}

function words(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
