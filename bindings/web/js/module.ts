// The WebAssembly module: when it is loaded, and what is said before that and after a machine's end.

import load, { initSync as loadSync, type InitInput, type InitOutput, RunMachine as Machine, type StepwellError, type SyncInitInput } from "./stepwell.js";

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

/**
 * Loads the module, once for a page, a worker or a process. Under Node it is read from the package. `module_or_path` says
 * where else it is: an address, a `Response`, the bytes, or a `WebAssembly.Module`.
 */
export async function init(from?: { module_or_path: InitInput | Promise<InitInput> }): Promise<InitOutput> {
  const output = await load(from);
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

/** The class, whose objects say so when they are used after `free`. */
function guarded(of: typeof Machine): typeof Machine {
  const freed = (machine: object) => {
    if ((machine as { __wbg_ptr?: number }).__wbg_ptr === 0) {
      throw misuse("the machine was given back with `free`", "make another one, or call `free` later");
    }
  };
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(of.prototype))) {
    const { get, value } = property;
    if (get) {
      property.get = function (this: object) {
        freed(this);
        return get.call(this);
      };
    } else if (typeof value === "function" && !["constructor", "free", "__destroy_into_raw"].includes(name)) {
      property.value = function (this: object, ...given: unknown[]) {
        freed(this);
        return value.apply(this, given);
      };
    } else continue;
    Object.defineProperty(of.prototype, name, property);
  }
  return new Proxy(of, {
    construct(target, given, made) {
      loaded();
      return Reflect.construct(target, given, made);
    },
    get(target, name, receiver) {
      if (name === "restore" || name === "revive") loaded();
      return Reflect.get(target, name, receiver);
    },
  });
}

export const RunMachine = /* @__PURE__ */ guarded(Machine);
export type RunMachine = Machine;
