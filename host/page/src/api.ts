// Requests to the server that the page came from.
import { signal } from "@preact/signals";
import { asked } from "./connection";
import type { Capabilities } from "./server";
import { ofTab } from "./storage";
import type { Content, View } from "./view";

/** The server refused a request, or could not be reached. */
export class ApiError extends Error {
  constructor(
    /** The HTTP status; 0 if there was no answer. */
    readonly status: number,
    /** For programs: `no_thread`, `turn_over`, … */
    readonly code: string,
    message: string,
  ) {
    super(message);
  }

  /** Whether the same request may succeed later. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

/** A session in the list. */
export interface Thread {
  threadId: string;
  title: string;
  createdAt: number;
  updatedAt: number;
  latestTurn: string | null;
  unfinishedTurn: string | null;
  /** Whether that turn waits for the user. */
  needsUser: boolean;
  /** That of the latest turn. */
  log: Log | null;
}

/** How much of a turn there is to see, and how much of it the user has seen, in whatever browser. */
export interface Log {
  /** As many events there are. */
  next: number;
  acknowledged: number | null;
}

export interface ThreadList {
  threads: Thread[];
  next: string | null;
  /** Whether the sessions are there after the server was started again. */
  durable: boolean;
}

/** A turn of a session's tree. */
export interface Branch {
  id: string;
  parent: string | null;
  createdAt: number;
  log: Log | null;
}

export interface ThreadDetail {
  thread: Thread;
  turns: Branch[];
  session: View;
}

const TOKEN = "stepwell.token";

/** Set while the user is asked for the server's token. */
export const tokenAsked = signal<{ wasWrong: boolean } | null>(null);

let token = ofTab.get(TOKEN);
let waiting: (() => void)[] = [];

/** The user has given the token. */
export function giveToken(given: string): void {
  token = given.trim();
  ofTab.set(TOKEN, token);
  tokenAsked.value = null;
  const all = waiting;
  waiting = [];
  all.forEach((go) => go());
}

function askForToken(used: string | null): Promise<void> {
  // Another request was told so too, and the token is here by now.
  if (used !== token) return Promise.resolve();
  tokenAsked.value ??= { wasWrong: used !== null };
  return new Promise((go) => waiting.push(go));
}

/** Sends a request, with the token if there is one. Asks for it where the server wants one. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    const used = token;
    const headers = new Headers(init.headers);
    if (used) headers.set("authorization", `Bearer ${used}`);
    let response: Response;
    const answered = asked();
    try {
      response = await fetch(new URL(path, document.baseURI), { ...init, headers, cache: "no-store", credentials: "omit" });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new ApiError(0, "unreachable", "The server cannot be reached.");
    } finally {
      answered();
    }
    if (response.status === 401) {
      await askForToken(used);
      continue;
    }
    if (!response.ok) throw await refusal(response);
    return response;
  }
}

async function refusal(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    return new ApiError(response.status, error.code, error.message);
  } catch {
    return new ApiError(response.status, "unknown", `The server answered with ${response.status}.`);
  }
}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await send(path, { signal: signal ?? null });
  return (await response.json()) as T;
}

function post(method: string, path: string, body: unknown): Promise<Response> {
  return send(path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

const at = (thread: string, turn?: string): string => {
  const path = `threads/${encodeURIComponent(thread)}`;
  return turn === undefined ? path : `${path}/turns/${encodeURIComponent(turn)}`;
};

export const getCapabilities = (): Promise<Capabilities> => get("capabilities");

export const listThreads = (limit: number): Promise<ThreadList> => get(`threads?limit=${limit}`);

export const getThread = (thread: string, turn: string | null, signal?: AbortSignal): Promise<ThreadDetail> =>
  get(turn === null ? at(thread) : `${at(thread)}?turn=${encodeURIComponent(turn)}`, signal);

export async function renameThread(thread: string, title: string): Promise<void> {
  await post("PATCH", at(thread), { title });
}

export async function deleteThread(thread: string): Promise<void> {
  await send(at(thread), { method: "DELETE" });
}

/** A turn to start. Without a message it goes on from its parent alone. */
export interface NewTurn {
  turnId: string;
  parent: string | null;
  /** Who is to answer, if not the usual model. */
  model?: string;
  /** What the model may ask the page for. */
  tools?: object[];
  /** Whether a compaction before it is undone. */
  wholeHistory?: boolean;
  /** A text, or a message of the protocol's. */
  message?: string | { id: string; role: "user"; content: Content };
}

/** Starts a turn. To start it twice starts it once. */
export async function startTurn(thread: string, turn: NewTurn): Promise<void> {
  await post("POST", `${at(thread)}/turns`, turn);
}

export async function cancelTurn(thread: string, turn: string): Promise<void> {
  await post("POST", `${at(thread, turn)}/cancel`, {});
}

/** Stops one call; the others go on. */
export async function cancelCall(thread: string, turn: string, call: string): Promise<void> {
  await post("POST", `${at(thread, turn)}/calls/${encodeURIComponent(call)}/cancel`, {});
}

/** What a tool of the page gave. */
export async function bringResult(thread: string, turn: string, call: string, result: { content: string } | { error: string }): Promise<void> {
  await post("POST", `${at(thread, turn)}/calls/${encodeURIComponent(call)}/result`, result);
}

/** The answer to a question of a turn. */
export interface Answer {
  interruptId: string;
  status: "resolved" | "cancelled";
  payload?: unknown;
}

export async function answerTurn(thread: string, turn: string, answer: Answer): Promise<void> {
  await post("POST", `${at(thread, turn)}/resume`, { resume: [answer] });
}

/** The journal of a turn, where the server keeps one. */
export async function getJournal(thread: string, turn: string, redacted: boolean, signal?: AbortSignal): Promise<string> {
  const response = await send(`${at(thread, turn)}/journal?redacted=${redacted}`, { signal: signal ?? null });
  return response.text();
}

/** The user has seen the events up to here. */
export async function acknowledge(thread: string, turn: string, index: number): Promise<void> {
  await post("POST", `${at(thread, turn)}/acknowledge`, { index });
}

/** Opens the stream of a turn's events, after the one that was read last. */
export function openEvents(thread: string, turn: string, after: string | null, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { accept: "text/event-stream" };
  if (after !== null) headers["last-event-id"] = after;
  return send(`${at(thread, turn)}/events?protocolVersion=1.0`, { headers, signal });
}
