// A turn: the loop between its machine and what the page has for it.

import type { Setup } from "./agent.js";
import { misuse } from "./module.js";
import type { CallKey, Effect, Interrupt, Message, Outcome, Outputs, Problem, ResumeEntry, RunEvent, RunMachine, TokenUsage, ToolFailureKind, ToolInvocation } from "./stepwell.js";
import { Deferred, shown, ToolError, words } from "./tools.js";
import { stream } from "./transport.js";

/** A turn that is over. */
export interface Finished {
  /** How it ended. */
  outcome: Outcome;
  /** All that the model said in it. */
  text: string;
  /** The conversation after it: AG-UI messages, oldest first. */
  messages: Message[];
  /** What it cost, over all its hops. */
  usage: TokenUsage;
  /** How many streams it took. */
  hops: number;
}

/** A turn whose answer is not whole: what is wrong, and what to do. */
export class TurnError extends Error {
  override name = "TurnError";

  constructor(
    readonly problem: Problem,
    /** The turn as it ended: what was said so far stands. */
    readonly finished: Finished,
  ) {
    super(`${problem.message}; ${problem.advice}`);
  }
}

/** `setTimeout` fires at once for what is longer. */
const LONGEST_WAIT = 2 ** 31 - 1;

type Input = (machine: RunMachine) => Outputs;

/**
 * A turn under way: iterate over it for its events, of which `completed` is the last. It goes on whether anybody iterates or
 * not; leaving the loop cancels it.
 */
export class Turn implements AsyncIterable<RunEvent> {
  #events: RunEvent[] = [];
  #wake: (() => void) | undefined;
  #work = new Map<string, AbortController>();
  #calls = new Map<string, CallKey>();
  #timer: unknown;
  #finished: Finished | undefined;
  #failed: { error: unknown } | undefined;
  #end!: () => void;
  #ended = new Promise<void>((end) => (this.#end = end));
  #rested: ((snapshot: string) => void)[] = [];

  /** @internal */
  constructor(
    private readonly setup: Setup,
    private readonly machine: RunMachine,
    private readonly told: (event: RunEvent) => void,
    private readonly over: (finished: Finished, machine: RunMachine) => void,
    private readonly signal?: AbortSignal,
  ) {}

  /** @internal */
  begin(input: Input): void {
    this.take(input);
    this.signal?.addEventListener("abort", this.cancel);
    if (this.signal?.aborted) this.cancel();
  }

  get #isOver(): boolean {
    return this.#finished !== undefined || this.#failed !== undefined;
  }

  /** The events, each to one reader. */
  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent, void, void> {
    try {
      for (;;) {
        const event = this.#events.shift();
        if (event) yield event;
        else if (this.#failed) throw this.#failed.error;
        else if (this.#finished) return;
        else await new Promise<void>((wake) => (this.#wake = wake));
      }
    } finally {
      this.cancel();
    }
  }

  /**
   * Waits for the end, whatever is left of the events, and gives the turn however it ended. Nobody sees what an AG-UI agent
   * asks meanwhile: it is told that there is no answer, and where it asks once more, the turn is cancelled.
   */
  async finish(): Promise<Finished> {
    let asked = false;
    for await (const event of this) {
      if (event.type !== "interrupted") continue;
      if (asked) this.cancel();
      else this.resume(event.interrupts.map(({ id: interruptId }) => ({ interruptId, status: "cancelled" })));
      asked = true;
    }
    await this.#ended;
    return this.#finished!;
  }

  /** Stops the turn: its tools are told, its connection is closed. The events up to its end still come. */
  cancel = (): void => this.tell((machine) => machine.cancel(this.setup.clock.now()));

  /** Stops one tool call, by the provider's id for it. The others go on, and the model is told. */
  cancelCall(toolCallId: string): void {
    const call = this.#calls.get(toolCallId);
    if (!call) throw misuse("no such call is under way", "take the `toolCallId` of a `toolCallUpdate` event of this turn");
    this.#say((machine) => machine.cancelCall(call, this.setup.clock.now()));
  }

  /** Brings the result of a deferred tool call, or of one that still runs, by the provider's id for it. */
  finishCall(toolCallId: string, result: unknown): void {
    this.#say((machine) => machine.toolFinished(this.#awaited(toolCallId), shown(result), this.setup.clock.now()));
  }

  /** The same for a call that failed; the model is shown the message. */
  failCall(toolCallId: string, message: string, kind: ToolFailureKind = "error"): void {
    this.#say((machine) => machine.toolFailed(this.#awaited(toolCallId), message, this.setup.clock.now(), kind));
  }

  /**
   * Says something during the turn, without stopping it: text, or an AG-UI message. Gives the message's id. `steeringTaken`
   * says when it is in the conversation, `steeringRefused` gives it back.
   */
  steer(said: string | Message): string {
    const message: Message = typeof said === "string" ? { id: `${crypto.randomUUID()}-user`, role: "user", content: said } : said;
    this.#say((machine) => machine.steer(message, this.setup.clock.now()));
    return message.id;
  }

  /** Answers what an AG-UI agent asked with the event `interrupted`, all of it at once. */
  resume(answers: ResumeEntry[]): void {
    this.#say((machine) => machine.resume(answers, this.setup.clock.now()));
  }

  /** What an AG-UI agent asks now. */
  get interrupts(): Interrupt[] {
    return this.#isOver ? [] : this.machine.interrupts;
  }

  /** How the turn ended, once it has. */
  get outcome(): Outcome | undefined {
    return this.#finished?.outcome;
  }

  /** The turn as text, for `Agent.revive`, in this page or a later one. It holds no key. Prefer `rested`. */
  get snapshot(): string {
    if (this.#isOver) throw misuse("the turn is over", "begin another turn");
    return this.machine.snapshot();
  }

  /** Waits until nothing but the user, or the result of a deferred call, can move the turn on, and gives its snapshot. */
  async rested(): Promise<string> {
    if (!this.#isOver && this.machine.isResting) return this.snapshot;
    const rested = new Promise<string>((resolve) => this.#rested.push(resolve));
    const over = this.#ended.then(() => {
      throw misuse("the turn came to its end", "begin another turn");
    });
    return Promise.race([rested, over]);
  }

  #awaited(toolCallId: string): string {
    const effect = this.machine.awaitedResult(toolCallId);
    if (effect !== undefined) return effect;
    throw misuse("no result of this call is awaited", "follow the event `toolCallUpdate` to know where a call stands");
  }

  /** An input that is harmless after the end. @internal */
  tell(input: Input): void {
    if (!this.#isOver) this.take(input);
  }

  /** An input whose refusal the app is to know of. */
  #say(input: Input): void {
    if (this.#isOver) throw misuse("the turn is over", "begin another turn");
    this.#carryOut(input(this.machine));
  }

  private take(input: Input): void {
    if (this.#isOver) return;
    try {
      this.#carryOut(input(this.machine));
    } catch (error) {
      // The machine cannot be trusted any more: there is no end of its own to wait for.
      this.#failed = { error };
      this.#close();
    }
  }

  /** A journal that cannot be written is no reason to end a turn. */
  #journal(lines: string | undefined): void {
    if (!lines) return;
    try {
      this.setup.journal?.(this.machine.turn, lines);
    } catch (error) {
      console.warn("stepwell: the journal failed", error);
    }
  }

  #carryOut({ events, effects, wakeAtMs }: Outputs): void {
    const { clock } = this.setup;
    this.#journal(this.machine.takeJournal());
    clock.clearTimeout(this.#timer);
    if (wakeAtMs !== undefined) {
      const wait = Math.min(Math.max(0, wakeAtMs - clock.now()), LONGEST_WAIT);
      this.#timer = clock.setTimeout(() => this.tell((machine) => machine.timeout(clock.now())), wait);
    }
    for (const effect of effects) this.#begin(effect);
    for (const event of events) {
      if (event.type === "toolCallUpdate") this.#calls.set(event.toolCallId, event.call);
      this.told(event);
      this.#events.push(event);
    }
    const { outcome } = this.machine;
    if (outcome) {
      const { text, messages, usage, hop } = this.machine;
      this.#finished = { outcome, text, messages, usage, hops: hop + 1 };
      this.#journal(this.machine.endJournal());
      this.over(this.#finished, this.machine);
      return this.#close();
    }
    if (this.#rested.length > 0 && this.machine.isResting) {
      const snapshot = this.machine.snapshot();
      for (const resolve of this.#rested.splice(0)) resolve(snapshot);
    }
    this.#wake?.();
  }

  #close(): void {
    this.setup.clock.clearTimeout(this.#timer);
    this.signal?.removeEventListener("abort", this.cancel);
    for (const work of this.#work.values()) work.abort();
    this.#work.clear();
    this.#end();
    this.#wake?.();
    // Not within a call of its own.
    queueMicrotask(() => this.machine.free());
  }

  #begin(effect: Effect): void {
    const { id } = effect;
    if (effect.type === "closeStream" || effect.type === "cancelTool") {
      this.#work.get(id)?.abort();
      this.#work.delete(id);
      return;
    }
    const controller = new AbortController();
    this.#work.set(id, controller);
    const { signal } = controller;
    // Nothing of the app's runs within the machine's call, and what was stopped has nothing more to say.
    void Promise.resolve().then(async () => {
      if (signal.aborted) return;
      if (effect.type === "openStream") {
        const take = (input: Input) => this.tell(input);
        return stream(this.setup.fetch, id, effect.request, signal, this.setup.clock.now, take);
      }
      const answer = await this.#answer(effect, signal);
      if (!signal.aborted) this.tell(answer);
    });
  }

  async #answer(effect: Effect, signal: AbortSignal): Promise<Input> {
    const now = this.setup.clock.now;
    const { id } = effect;
    switch (effect.type) {
      case "runTool":
        return this.#run(id, effect.invocation, signal);
      case "askApproval":
        return this.#ask(id, effect.invocation, signal);
      case "createRun":
        return (machine) => machine.runNotCreated(id, "an `Agent` creates no runs; drive a `RunMachine`", now());
      case "persist":
        return (machine) => machine.persistFailed(id, "an `Agent` has no store; drive a `RunMachine`", now());
      default:
        return (machine) => machine.contextNotTrimmed(id, "an `Agent` does not trim; drive a `RunMachine`", now());
    }
  }

  async #run(id: string, invocation: ToolInvocation, signal: AbortSignal): Promise<Input> {
    const now = this.setup.clock.now;
    try {
      const tool = this.setup.tools.get(invocation.name);
      if (!tool) throw new ToolError(`\`${invocation.name}\` has no code in this app`);
      const content = shown(await tool.execute(invocation.arguments, { signal, invocation }));
      return (machine) => machine.toolFinished(id, content, now());
    } catch (error) {
      if (error instanceof Deferred) return (machine) => machine.toolDeferred(id, now());
      const kind = error instanceof ToolError ? "error" : "panicked";
      return (machine) => machine.toolFailed(id, words(error), now(), kind);
    }
  }

  async #ask(id: string, invocation: ToolInvocation, signal: AbortSignal): Promise<Input> {
    const now = this.setup.clock.now;
    if (!this.setup.approver) return (machine) => machine.deny(id, "this app has no way to ask the user", now());
    try {
      const decision = await this.setup.approver(invocation, { signal });
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
}
