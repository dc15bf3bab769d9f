// One request and its answer, as inputs of the machine.

import type { RunMachine } from "./machine.js";
import type { HttpRequest, Outputs } from "./types.js";
import { words } from "./error.js";

/** The most bytes that are kept of an error's body. */
const ERROR_BODY = 64 * 1024;

const NOT_FOLLOWED =
  '{"error":{"message":"the server redirects to another address; if that is right, make it the base URL"}}';

type Take = (input: (machine: RunMachine) => Outputs) => void;

/** Sends the request, and passes the answer on in chunks. An aborted request passes nothing more. */
export async function stream(
  fetch: typeof globalThis.fetch,
  id: string,
  { url, method, headers, body }: HttpRequest,
  signal: AbortSignal,
  now: () => number,
  take: Take,
): Promise<void> {
  const tell: Take = (input) => {
    if (!signal.aborted) take(input);
  };
  let response;
  try {
    // A redirect would take the key and the conversation elsewhere.
    response = await fetch(url, { method, headers, body: body.length ? body : null, signal, redirect: "manual" });
  } catch (error) {
    return tell((machine) => machine.connectionFailed(id, words(error), now()));
  }
  const isRedirect = response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400);
  if (isRedirect) {
    response.body?.cancel().catch(() => {});
    const status = response.status || 307;
    return tell((machine) => machine.refused(id, status, new TextEncoder().encode(NOT_FOLLOWED), now()));
  }
  if (!response.ok) {
    const wait = retryAfter(response.headers, now());
    const beginning = await beginningOf(response);
    return tell((machine) => machine.refused(id, response.status, beginning, now(), wait));
  }
  tell((machine) => machine.opened(id, response.headers.get("content-type") ?? undefined, now()));
  let encoding = response.headers.get("content-encoding");
  try {
    const reader = response.body?.getReader();
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
      if (signal.aborted) return;
      const bytes: Uint8Array = piece.value;
      if (encoding && isCompressed(bytes)) {
        tell((machine) => machine.lost(id, `the answer is compressed (${encoding})`, now()));
        return void reader?.cancel().catch(() => {});
      }
      if (bytes.length > 0) encoding = null;
      tell((machine) => machine.receive(id, bytes, now()));
    }
  } catch (error) {
    return tell((machine) => machine.lost(id, words(error), now()));
  }
  tell((machine) => machine.ended(id, now()));
}

/** Neither the text of a stream nor a page begins with a control character or with bytes that are no UTF-8. */
function isCompressed([first]: Uint8Array): boolean {
  if (first === undefined || first === 0 || first === 9 || first === 10 || first === 13 || first === 0xef) return false;
  return first < 0x20 || first > 0x7e;
}

async function beginningOf(response: Response): Promise<Uint8Array> {
  const kept: number[] = [];
  const reader = response.body?.getReader();
  try {
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
      for (const byte of piece.value.subarray(0, ERROR_BODY - kept.length)) kept.push(byte);
      if (kept.length >= ERROR_BODY) break;
    }
    reader?.cancel().catch(() => {});
  } catch {
    // What came of it has to do.
  }
  return Uint8Array.from(kept);
}

/**
 * Reads seconds, a date, or `retry-after-ms`, which some providers also send. Another origin must expose its header to
 * the page.
 */
function retryAfter(headers: Headers, now: number): number | undefined {
  const millis = headers.get("retry-after-ms")?.trim();
  if (millis && /^\d+$/.test(millis)) return Number(millis);
  const value = headers.get("retry-after")?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
