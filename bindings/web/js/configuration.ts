// Converts a configuration to the library's form, which is JSON.

import { wrong } from "./error.js";
import type { RunConfig } from "./types.js";

/** Throws for a function, which JSON would drop silently: usually a misspelled option. */
function refuseFunctions(value: unknown, path = "", within: readonly unknown[] = []): void {
  if (typeof value === "function") throw wrong(`\`${path}\` is a function, and no option has this name`, "look at the spelling: the types have every option");
  // A cyclic object is no JSON at all, which the serialization reports.
  if (typeof value !== "object" || value === null || within.includes(value)) return;
  const isList = Array.isArray(value);
  for (const [name, field] of Object.entries(value)) {
    const place = isList ? `${path}[${name}]` : path ? `${path}.${name}` : name;
    refuseFunctions(field, place, [...within, value]);
  }
}

/** The base of relative addresses: the page's, or the worker's. Absent under Node. */
const base = (): string | undefined => globalThis.document?.baseURI ?? globalThis.location?.href;

/** Returns the absolute address; the unchanged one if there is no page that it could be relative to. */
function absolute(address: string): string {
  const isRelative = !/^[a-z][a-z\d+.-]*:/i.test(address);
  const page = base();
  if (address === "" || !isRelative || page === undefined) return address;
  try {
    return new URL(address, page).href;
  } catch {
    return address;
  }
}

/** Returns the configuration for the library. Throws for values that JSON cannot express. @internal */
export function plain(config: RunConfig): RunConfig {
  if (typeof config !== "object" || config === null) return config;
  refuseFunctions(config);
  return typeof config.baseUrl === "string" ? { ...config, baseUrl: absolute(config.baseUrl) } : config;
}

/** Throws if the options of a turn have a function that no option takes. @internal */
export const refuseUnknownCode = (options: object): void => refuseFunctions(options);
