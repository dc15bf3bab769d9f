// The WebAssembly module: how it is loaded, and called in JSON.

import load, { initSync as loadSync, type InitInput, type InitOutput, type SyncInitInput } from "./stepwell.js";
import { type MisuseCode, misuse, StepwellError, unfit, wrong } from "./error.js";
import type { ThreadKey } from "./types.js";

let isLoaded = false;

/** Throws if the module is not loaded. */
export function loaded(): void {
  if (!isLoaded) {
    throw misuse(
      "Stepwell is not loaded yet",
      "call `await init()` first, once: `import init from \"stepwell\"`; on a server that renders pages, where the page runs",
    );
  }
}

/** What to do if the module cannot be loaded. */
function loadingAdvice(error: unknown): string {
  const words = String(error);
  if (/unsafe-eval|Content Security Policy|Content-Security-Policy/i.test(words)) {
    return "let the page's Content-Security-Policy allow WebAssembly: `script-src 'self' 'wasm-unsafe-eval'`";
  }
  return "say where the file `stepwell_bg.wasm` of the package is, or give its bytes or a `WebAssembly.Module`: `init({ module_or_path })`";
}

/**
 * Loads the module, once for a page, a worker or a process. Under Node it is read from the package. `module_or_path` is
 * another source: an address, a `Response`, the bytes, or a `WebAssembly.Module`. Throws a `StepwellError` if it cannot
 * be loaded.
 */
export async function init(from?: { module_or_path: InitInput | Promise<InitInput> }): Promise<InitOutput> {
  let output;
  try {
    output = await load(from);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw unfit(`the WebAssembly module cannot be loaded: ${reason}`, loadingAdvice(error));
  }
  isLoaded = true;
  return output;
}

/** Loads the module at once, from the bytes or a `WebAssembly.Module`. */
export function initSync(from?: { module: SyncInitInput }): InitOutput {
  // A loaded module is returned unchanged.
  const output = loadSync(from as { module: SyncInitInput });
  isLoaded = true;
  return output;
}

/** Converts to bytes: for a text the module would take as many zeros. */
export function bodyBytes(bytes: Uint8Array): Uint8Array {
  if (!ArrayBuffer.isView(bytes)) throw wrong("the body is no `Uint8Array`", "give the bytes as `fetch` gives them; of a text, `new TextEncoder().encode(text)`");
  return bytes;
}

/** The text of a body. */
export const bodyText = (bytes: Uint8Array): string => new TextDecoder().decode(bodyBytes(bytes));

/** Whole milliseconds, if any. */
export const milliseconds = (time?: number | null): number | undefined => (time == null ? undefined : Math.max(0, Math.trunc(time)));

/** A thread's key: for an app with one server and no rooms, an id alone names the thread. */
export const threadKey = (thread: ThreadKey | string): ThreadKey =>
  typeof thread === "string" ? { server: "", room: "", thread } : thread;

/** Converts a value of the app to JSON text. */
export function written(what: string, value: object): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw wrong(`${what} cannot be written as JSON: ${error instanceof Error ? error.message : error}`, "give values that JSON has");
  }
}

/** A refusal, as the library writes it. */
interface Refused {
  kind: MisuseCode | "misuse" | "store";
  reason: string;
  advice: string;
}

/** Parses the library's answer, or throws its refusal. */
export function answered<T>(text: string): T {
  const { refused, ...answer } = JSON.parse(text) as T & { refused?: Refused };
  if (!refused) return answer as T;
  const { kind, reason, advice } = refused;
  if (kind === "misuse" || kind === "store") throw new StepwellError(kind, reason, advice);
  throw new StepwellError("misuse", reason, advice, { code: kind });
}

/** Creates an object of the library: its refusals are thrown as text. */
export function made<T>(make: () => T): T {
  loaded();
  try {
    return make();
  } catch (refused) {
    throw typeof refused === "string" ? answered(refused) : refused;
  }
}
