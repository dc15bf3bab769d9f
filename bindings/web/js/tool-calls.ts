// The calls of tools: the app's code, and what it says while it runs.

import { words } from "./error.js";
import type { Setup } from "./setup.js";
import { argumentsOf, Deferred, shown, type Tool, type ToolContext, ToolError } from "./tools.js";
import type { Input } from "./turn.js";
import type { ToolInvocation, UserAnswer } from "./types.js";

/** Passes a running tool's reports to its turn. @internal */
export interface Asking {
  /** Passes an input to the machine, and throws its refusal. */
  say(input: Input): void;
  /** Ends the turn: the app's code of this tool is broken. */
  fail(tool: string, error: unknown): void;
  /** Waits for the answer to the question of this id. */
  answered(id: string): Promise<UserAnswer>;
}

/** Runs a tool, and returns the machine's input. @internal */
export async function run({ tools, deps, onToolError, clock: { now } }: Setup, id: string, invocation: ToolInvocation, own: Map<string, Tool<any>>, asking: Asking, signal: AbortSignal): Promise<Input> {
  try {
    const tool = own.get(invocation.name) ?? tools.get(invocation.name);
    if (!tool) throw new ToolError(`\`${invocation.name}\` has no code in this app`);
    const content = shown(await tool.execute(await argumentsOf(tool, invocation.arguments), context(id, invocation, deps, now, asking, signal)));
    return (machine) => machine.toolFinished(id, content, now());
  } catch (error) {
    if (error instanceof Deferred) return (machine) => machine.toolDeferred(id, now());
    if (error instanceof ToolError) return (machine) => machine.toolFailed(id, words(error), now());
    if (onToolError === "fail" && !signal.aborted) asking.fail(invocation.name, error);
    return (machine) => machine.toolFailed(id, onToolError === "showModel" ? words(error) : "", now(), "panicked");
  }
}

/** The arguments of a tool's code in addition to the model's. */
function context(id: string, invocation: ToolInvocation, deps: unknown, now: () => number, { say, answered }: Asking, signal: AbortSignal): ToolContext {
  let questions = 0;
  const tell = (input: Input) => {
    if (signal.aborted) return;
    try {
      say(input);
    } catch (error) {
      console.warn("stepwell: what a tool said was not taken", error);
    }
  };
  return {
    deps,
    signal,
    invocation,
    report: (fraction, message) => tell((machine) => machine.toolProgress(id, fraction, message, now())),
    partial: (result) => tell((machine) => machine.toolPartialResult(id, shown(result), now())),
    ask: async (asked) => {
      signal.throwIfAborted();
      const question = typeof asked === "string" ? { message: asked, schema: { type: "string" } } : asked;
      const number = questions++;
      const answer = answered(`ask:${invocation.call.hop}:${invocation.call.index}:${number}`);
      say((machine) => machine.toolAsks(id, number, question, now()));
      const stopped = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
      return Promise.race([answer, stopped]);
    },
  };
}
