// The WebAssembly module: when it is loaded, and how it is spoken to, which is in JSON.

import load, { initSync as loadSync, type InitInput, type InitOutput, type SyncInitInput } from "./stepwell.js";
import type { StepwellError, ThreadKey } from "./types.js";

let isLoaded = false;

/** An error as the library throws them. */
export function thrown(kind: StepwellError["kind"], reason: string, advice: string): StepwellError {
  return Object.assign(new Error(`${reason}; ${advice}`), { name: "StepwellError" as const, kind, reason, advice });
}

/** A call that does not fit where things stand. */
export const misuse = (reason: string, advice: string): StepwellError => thrown("misuse", reason, advice);

/** An argument that is not what it should be: the types tell nothing to an app in JavaScript. */
export const wrong = (reason: string, advice: string): StepwellError => thrown("invalidArgument", reason, advice);

/** Throws where the module is not loaded. */
export function loaded(): void {
  if (!isLoaded) {
    throw misuse(
      "Stepwell is not loaded yet",
      "call `await init()` first, once: `import init from \"stepwell\"`; on a server that renders pages, where the page runs",
    );
  }
}

/** What to do where the module cannot be loaded. */
function loadingAdvice(error: unknown): string {
  const words = String(error);
  if (/unsafe-eval|Content Security Policy|Content-Security-Policy/i.test(words)) {
    return "let the page's Content-Security-Policy allow WebAssembly: `script-src 'self' 'wasm-unsafe-eval'`";
  }
  return "say where the file `stepwell_bg.wasm` of the package is, or give its bytes or a `WebAssembly.Module`: `init({ module_or_path })`";
}

/**
 * Loads the module, once for a page, a worker or a process. Under Node it is read from the package. `module_or_path` says
 * where else it is: an address, a `Response`, the bytes, or a `WebAssembly.Module`. Throws a `StepwellError` where it cannot
 * be loaded.
 */
export async function init(from?: { module_or_path: InitInput | Promise<InitInput> }): Promise<InitOutput> {
  let output;
  try {
    output = await load(from);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw thrown("configuration", `the WebAssembly module cannot be loaded: ${reason}`, loadingAdvice(error));
  }
  isLoaded = true;
  return output;
}

/** The same at once, from the bytes or a `WebAssembly.Module`. */
export function initSync(from?: { module: SyncInitInput }): InitOutput {
  // Once it is loaded it is given as it is.
  const output = loadSync(from as { module: SyncInitInput });
  isLoaded = true;
  return output;
}

/** Bytes: of a text the module would take as many zeros. */
export function bodyBytes(bytes: Uint8Array): Uint8Array {
  if (!ArrayBuffer.isView(bytes)) throw wrong("the body is no `Uint8Array`", "give the bytes as `fetch` gives them; of a text, `new TextEncoder().encode(text)`");
  return bytes;
}

/** The text of a body. */
export const bodyText = (bytes: Uint8Array): string => new TextDecoder().decode(bodyBytes(bytes));

/** Whole milliseconds, if there are some. */
export const milliseconds = (time?: number | null): number | undefined => (time == null ? undefined : Math.max(0, Math.trunc(time)));

/** A thread's key: a mere id names the thread of an app that has one server and no rooms. */
export const threadKey = (thread: ThreadKey | string): ThreadKey =>
  typeof thread === "string" ? { server: "", room: "", thread } : thread;

/** A text in JSON, of what the app gave. */
export function written(what: string, value: object): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw wrong(`${what} cannot be written as JSON: ${error instanceof Error ? error.message : error}`, "give values that JSON has");
  }
}

/** What the library answered, read; what it refused is thrown. */
export function answered<T>(text: string): T {
  const answer = JSON.parse(text) as T & { refused?: Pick<StepwellError, "kind" | "reason" | "advice"> };
  if (answer.refused) throw thrown(answer.refused.kind, answer.refused.reason, answer.refused.advice);
  return answer;
}

/** Makes something of the library's: what it refuses it throws as text. */
export function made<T>(make: () => T): T {
  loaded();
  try {
    return make();
  } catch (refused) {
    throw typeof refused === "string" ? answered(refused) : refused;
  }
}
