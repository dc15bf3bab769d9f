// The replies to what a turn waits for.

/** A reply, which can be sent to another page. @internal */
export interface Reply {
  verb: "approve" | "deny" | "answer" | "resolve";
  /** The arguments, the reason, the answer, or the result as the model is shown it. */
  value?: any;
}
