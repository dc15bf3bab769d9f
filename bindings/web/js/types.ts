// The types that are not those of a shape of the library's own.

export type * from "./shapes.js";

/** Any JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** An AG-UI message: `@ag-ui/core` has the types of all roles. */
export interface Message {
  id: string;
  role: "user" | "assistant" | "tool" | "system" | "developer" | "reasoning" | "activity";
  [field: string]: unknown;
}

/** What kind of media a part is. */
export type MediaKind = "image" | "audio" | "video" | "document";

/** Where media are: in the message, in base64; at an address; in a provider's store, by the id that they have there. */
export type MediaSource =
  | { type: "data"; value: string; mimeType: string }
  | { type: "url"; value: string; mimeType?: string }
  | { type: "file"; value: string; provider?: string; mimeType?: string };

/** A part of what the user says, or of what a tool gives back, as AG-UI has it. */
export type Part = { type: "text"; text: string } | { type: MediaKind; source: MediaSource; metadata?: Json };

/**
 * What is thrown when a call cannot be done; its message is the reason and the advice. What goes wrong within a turn is no
 * error: it is the turn's outcome.
 */
export interface StepwellError extends Error {
  name: "StepwellError";
  kind: "configuration" | "invalidArgument" | "misuse" | "snapshot" | "stale" | "store";
  /** What went wrong. */
  reason: string;
  /** What to do about it. */
  advice: string;
}
