/** Any JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** An AG-UI message: `@ag-ui/core` has the types of all roles. */
export interface Message {
  id: string;
  role: "user" | "assistant" | "tool" | "system" | "developer" | "reasoning" | "activity";
  [field: string]: unknown;
}

/** What is thrown when a call cannot be done. What goes wrong within a turn is no error: it is the turn's outcome. */
export interface StepwellError extends Error {
  name: "StepwellError";
  kind: "configuration" | "invalidArgument" | "misuse" | "snapshot" | "stale" | "store";
  /** What to do about it. */
  advice: string;
}
