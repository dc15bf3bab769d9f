// What a machine asks of the app's code: tools, whoever asks the user, the store.

import type { Setup } from "./agent.js";
import type { Writer } from "./durable.js";
import type { Effect, ToolInvocation } from "./stepwell.js";
import { Deferred, shown, ToolError, words } from "./tools.js";
import type { Input } from "./turn.js";

/** Carries out an effect that is no stream, and gives what the machine is told. @internal */
export async function answer(setup: Setup, effect: Effect, writer: Writer | undefined, signal: AbortSignal): Promise<Input> {
  const { now } = setup.clock;
  const { id } = effect;
  switch (effect.type) {
    case "runTool":
      return run(setup, id, effect.invocation, signal);
    case "askApproval":
      return ask(setup, id, effect.invocation, signal);
    case "createRun":
      return (machine) => machine.runNotCreated(id, "an `Agent` creates no runs; drive a `RunMachine`", now());
    case "persist":
      return writer?.write(effect) ?? ((machine) => machine.persistFailed(id, "this agent has no store", now()));
    default:
      return (machine) => machine.contextNotTrimmed(id, "an `Agent` does not trim; drive a `RunMachine`", now());
  }
}

async function run({ tools, clock: { now } }: Setup, id: string, invocation: ToolInvocation, signal: AbortSignal): Promise<Input> {
  try {
    const tool = tools.get(invocation.name);
    if (!tool) throw new ToolError(`\`${invocation.name}\` has no code in this app`);
    const content = shown(await tool.execute(invocation.arguments, { signal, invocation }));
    return (machine) => machine.toolFinished(id, content, now());
  } catch (error) {
    if (error instanceof Deferred) return (machine) => machine.toolDeferred(id, now());
    const kind = error instanceof ToolError ? "error" : "panicked";
    return (machine) => machine.toolFailed(id, words(error), now(), kind);
  }
}

async function ask({ approver, clock: { now } }: Setup, id: string, invocation: ToolInvocation, signal: AbortSignal): Promise<Input> {
  if (!approver) return (machine) => machine.deny(id, "this app has no way to ask the user", now());
  try {
    const decision = await approver(invocation, { signal });
    if (decision === true) return (machine) => machine.approve(id, now());
    if (typeof decision !== "object") return (machine) => machine.deny(id, decision || undefined, now());
    return (machine) => {
      try {
        return machine.approve(id, now(), decision);
      } catch (error) {
        return machine.deny(id, `they edited the arguments, and ${words(error)}`, now());
      }
    };
  } catch {
    return (machine) => machine.deny(id, "the user could not be asked", now());
  }
}
