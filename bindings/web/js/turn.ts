// A turn: the loop between its machine and the page's code.

import { answer } from "./answers.js";
import { NoInstructions } from "./credentials.js";
import type { StoredTurn, Writer } from "./durable.js";
import { misuse, nothingWaits, StepwellError, words } from "./error.js";
import { UpdateQueue } from "./update-queue.js";
import { messageOf, type Prompt } from "./media.js";
import type { RunMachine } from "./machine.js";
import { health } from "./model-number.js";
import { changed, type DeepPartial } from "./output.js";
import type { Owner } from "./owner.js";
import type { Reply } from "./reply.js";
import { type Ended, resultOf, type TurnResult } from "./result.js";
import type { Setup } from "./setup.js";
import { busy, noInstructions, notStored, toolFailed } from "./session.js";
import type { CallKey, ContextMessage, Effect, Interrupt, Json, Message, Outcome, Outputs, Pending, ResumeEntry, TokenUsage, ToolFailureKind, UserAnswer } from "./types.js";
import { StoreError } from "./store.js";
import type { Asking } from "./tool-calls.js";
import { shown, type Tool } from "./tools.js";
import { stream } from "./transport.js";
import type { Update } from "./update.js";
import { Busy, Steered, Stopped, type Waiting } from "./waiting.js";

/** `setTimeout` fires at once for a longer delay. */
const LONGEST_WAIT = 2 ** 31 - 1;

const over = (): Error => misuse("the turn is over", "begin another turn");

/** Whether the effect of this id stores something. */
const isWrite = (id: string): boolean => id.startsWith("persist:");

/** @internal */
export type Input = (machine: RunMachine) => Outputs;

/** A run that has begun: its machine, with the outputs so far, and the writer of its store. @internal */
export interface Run {
  machine: RunMachine;
  outputs: Outputs;
  writer?: Writer;
}

/** The parts of its agent that a turn needs. @internal */
export interface Host {
  setup: Setup;
  /** The turn's hold on its thread in a registry; absent without one, or as long as the turn waits for another. */
  owner: Pick<Owner, "holds" | "goOn" | "complete"> | undefined;
  isRevived: boolean;
  /** The tools of this turn only. */
  tools: Map<string, Tool<any>>;
  /** Called when the turn is over; without a machine if it did not begin. */
  over(ended: Ended, machine?: RunMachine): void;
  /** Called when the turn is released without an end. */
  left(): void;
  /** The conversation before the turn. */
  messages(): Message[];
  /** Returns the device's state, as inputs of a new run. */
  news(): Input[];
}

const STOPPED = { kind: "cancelled", message: "the turn was stopped", advice: "send the message again if that was not meant", retryable: false } as const;

/**
 * A turn under way: iterate over it for its updates. The end of the turn is no update: it is the `result`, or the
 * `StepwellError` that the loop throws if the answer is incomplete, also if the turn was cancelled. The turn continues
 * without a loop; leaving the loop cancels it.
 */
export class Turn<T = string> implements AsyncIterable<Update> {
  #machine: RunMachine | undefined;
  #writer: Writer | undefined;
  #updates = new UpdateQueue();
  /** Whether a question of an AG-UI agent came that no loop saw. */
  #isAsked = false;
  #work = new Map<string, AbortController>();
  #calls = new Map<string, CallKey>();
  #pending: readonly Pending[] = [];
  /** The effects that are answered by the replies to what is pending, by its ids. */
  #effects = new Map<string, string>();
  /** How the turn ends because a tool is broken. */
  #fault: Pick<Ended, "outcome" | "cause"> | undefined;
  /** The tools that wait for the user, by their questions. */
  #asked = new Map<string, (answer: UserAnswer) => void>();
  #asking: Asking = {
    say: (input) => this.#say(input),
    fail: (tool, error) => {
      // A turn that was cancelled before ends as cancelled.
      if (!this.#stop.signal.aborted) this.#fault ??= { outcome: toolFailed(tool, words(error)), cause: error };
      this.cancel();
    },
    answered: (id) => new Promise((told) => this.#asked.set(id, told)),
  };
  #timer: unknown;
  #outcome: Outcome | undefined;
  #ended: Ended | undefined;
  #result: Promise<TurnResult<T>> | undefined;
  #failed: { error: unknown } | undefined;
  #isSuspended = false;
  #trouble: StoreError | undefined;
  #revivedFrom: Message[] | undefined;
  /** The last write is done, or has failed. */
  #written: Promise<void> | undefined;
  #stop = new AbortController();
  #begin!: () => void;
  #end!: () => void;
  #rested: ((snapshot: string) => void)[] = [];

  /**
   * Resolves when the turn has begun: at once, except for an agent with a store, which is asked first. It never fails.
   */
  readonly begun = new Promise<void>((begin) => (this.#begin = begin));
  /** The turn is over, and the next one may begin. @internal */
  readonly ended = new Promise<void>((end) => (this.#end = end));

  /** @internal */
  constructor(
    private readonly host: Host,
    private readonly signal?: AbortSignal,
  ) {}

  /** @internal */
  begin(make: (waiting: Waiting) => Run | Promise<Run>): void {
    this.signal?.addEventListener("abort", this.cancel);
    if (this.signal?.aborted) this.cancel();
    try {
      const warn = (message: string) => this.#updates.add({ type: "warning", message });
      const trouble = (error: StoreError | undefined) => (this.#trouble = error);
      const run = make({ warn, trouble, signal: this.#stop.signal });
      if (run instanceof Promise) run.then((run) => this.#start(run), (error) => this.#notBegun(error));
      else this.#start(run);
    } catch (error) {
      this.#break(error);
    }
  }

  #start({ machine, outputs, writer }: Run): void {
    this.#machine = machine;
    this.#writer = writer;
    if (this.host.isRevived) this.#revivedFrom = machine.messages;
    this.#begin();
    this.#take(() => outputs);
    for (const input of this.host.news()) this.tell(input);
    if (this.#stop.signal.aborted) this.cancel();
  }

  /** A turn that could not be stored, has no instructions, or found its thread busy, has not begun: nothing went out. */
  #notBegun(error: unknown): void {
    let outcome: Outcome;
    if (error instanceof Steered) return this.#conclude(error.end);
    if (error instanceof StoreError) {
      this.#trouble = error;
      outcome = notStored(error.message);
    } else if (error instanceof NoInstructions) outcome = noInstructions(error.message);
    else if (error instanceof Busy) outcome = busy();
    else if (error instanceof Stopped) outcome = { outcome: "cancelled", problem: STOPPED };
    else return this.#break(error);
    const { kind, message, advice, retryable } = outcome.problem!;
    const says = error instanceof Busy ? "wait for the turn, or say what happens instead: `whenBusy`" : advice;
    const of = error instanceof StoreError ? { code: error.code, cause: error } : {};
    this.#failed = { error: new StepwellError(kind, message, says, { retryable, ...of }) };
    this.host.over({ outcome, fullText: "", messages: this.host.messages(), usage: {}, hops: 0 });
    this.#close();
  }

  get #isOver(): boolean {
    return this.#ended !== undefined || this.#failed !== undefined || this.#isSuspended;
  }

  /** Whether the turn neither has ended nor is being stopped. @internal */
  get isUnderWay(): boolean {
    return !this.#isOver && !this.#stop.signal.aborted && !this.#outcome;
  }

  /** The end of the turn, once it has ended by itself. @internal */
  get end(): Ended | undefined {
    return this.#ended;
  }

  /** The updates. One loop at a time takes them; elsewhere, wait for the end by `result`. */
  [Symbol.asyncIterator](): AsyncGenerator<Update, void, void> {
    const hasEnded = () => {
      if (this.#failed) throw this.#failed.error;
      return this.#isOver;
    };
    return this.#updates.read(hasEnded, this.cancel);
  }

  /** What the model says, as it comes; a loop like that over the updates, which it replaces. */
  get textStream(): AsyncIterable<string> {
    return this.#texts();
  }

  async *#texts(): AsyncGenerator<string, void, void> {
    for await (const update of this) if (update.type === "TEXT_MESSAGE_CONTENT") yield update.delta;
  }

  /**
   * What is certain so far of a typed answer, each time that more is; no value is checked yet. A loop like that over the
   * updates, which it replaces.
   */
  get partialOutputStream(): AsyncIterable<DeepPartial<T>> {
    return this.#partials();
  }

  async *#partials(): AsyncGenerator<DeepPartial<T>, void, void> {
    let partial: Json = null;
    for await (const update of this) {
      if (update.type !== "partialOutput") continue;
      partial = update.changes.reduce(changed, partial);
      yield partial as DeepPartial<T>;
    }
  }

  /**
   * The turn's result, once it is over, also while a loop reads its updates. Throws the `StepwellError` of a turn whose
   * answer is incomplete. Without a loop, updates are dropped, and questions of an AG-UI agent are not shown to the user:
   * the agent is informed that there is no answer, and if it asks again, the turn is cancelled.
   */
  get result(): Promise<TurnResult<T>> {
    if (!this.#result) {
      this.#result = this.#finish();
      // A loop that throws first is no reason for an error that is not handled.
      this.#result.catch(() => {});
    }
    return this.#result;
  }

  async #finish(): Promise<TurnResult<T>> {
    // A loop that begins at the same time comes first.
    await undefined;
    while (!this.#isOver) {
      if (!this.#updates.isRead) this.#updates.takeAll().forEach((update) => this.#decline(update));
      if (!this.#isOver) await this.#updates.news();
    }
    await this.ended;
    if (this.#failed) throw this.#failed.error;
    if (!this.#ended) throw misuse("the turn was suspended", "continue it by `revive` of its conversation");
    const result = resultOf(this.#ended);
    const { read } = this.host.setup;
    const { output } = this.#ended;
    const value = output === undefined ? result.text : read ? await read(output) : output;
    return { output: value as T, ...result };
  }

  /** Answers a question that no loop sees. */
  #decline(update: Update): void {
    if (update.type !== "interrupted" || this.#isOver) return;
    if (this.#isAsked) this.cancel();
    else this.resume(update.interrupts.map(({ id: interruptId }) => ({ interruptId, status: "cancelled" })));
    this.#isAsked = true;
  }

  /** Stops the turn and its tools, and closes its connection. The updates up to the turn's end still arrive. */
  cancel = (): void => {
    this.#stop.abort();
    this.#take((machine) => machine.cancel(this.host.setup.clock.now()));
  };

  /** Stops one tool call, by the provider's id for it. The other calls continue, and the model is informed. */
  cancelCall(toolCallId: string): void {
    const call = this.#calls.get(toolCallId);
    if (!call) throw misuse("no such call is under way", "take the `toolCallId` of a `toolCallUpdate` of this turn");
    this.#say((machine) => machine.cancelCall(call, this.host.setup.clock.now()));
  }

  /**
   * What the turn waits for now: approvals and questions for the user, and results of deferred calls. The update
   * `pending` reports each change. An `approver` or `answerer` may ask the user for the same.
   */
  get pending(): readonly Pending[] {
    return this.#isOver ? [] : this.#pending;
  }

  /**
   * Lets the call run that waits for approval under this id, with other arguments than the model's if they are given. Throws
   * if nothing waits under the id, or the arguments do not fit the tool; then nothing changes. The same holds for the
   * following methods.
   */
  approve(id: string, changed?: { [name: string]: Json }): void {
    this.reply(id, { verb: "approve", value: changed });
  }

  /** Denies the call, or declines the question, that waits under this id. The model, or the tool, gets the reason. */
  deny(id: string, reason?: string): void {
    this.reply(id, { verb: "deny", value: reason });
  }

  /** Answers the question of a running tool that waits under this id. */
  answer(id: string, value: Json): void {
    this.reply(id, { verb: "answer", value });
  }

  /** Supplies the result of a deferred tool call, or of one that still runs, by the provider's id for it. */
  resolveCall(toolCallId: string, result: unknown): void {
    this.reply(toolCallId, { verb: "resolve", value: shown(result) });
  }

  /** @internal */
  reply(id: string, { verb, value }: Reply): void {
    const now = this.host.setup.clock.now();
    if (verb === "resolve") return this.#say((machine) => machine.toolFinished(this.#awaited(id), value, now));
    const effect = this.pending.some((pending) => pending.id === id) && this.#effects.get(id);
    const isQuestion = effect && effect.startsWith("ask:");
    if (!effect || verb === (isQuestion ? "approve" : "answer")) throw nothingWaits();
    const input = isQuestion && verb === "deny" ? "decline" : verb;
    this.#say((machine) => (input === "approve" ? machine.approve(effect, now, value) : machine[input](effect, value, now)));
    // Whoever asks the user now may stop.
    this.#stopWork(effect);
  }

  /** Reports that such a call failed; the model is shown the message. */
  failCall(toolCallId: string, message: string, kind: ToolFailureKind = "error"): void {
    this.#say((machine) => machine.toolFailed(this.#awaited(toolCallId), message, this.host.setup.clock.now(), kind));
  }

  /**
   * Sends a message during the turn, without stopping it. Returns the message's id. `steeringTaken`
   * reports that it is in the conversation, `steeringRefused` returns it.
   */
  steer(prompt: Exclude<Prompt, null>): string {
    const message = messageOf(crypto.randomUUID(), prompt);
    this.#say((machine) => machine.steer(message, this.host.setup.clock.now()));
    return message.id;
  }

  /** Answers all questions that an AG-UI agent asked with the update `interrupted`, at once. */
  resume(answers: ResumeEntry[]): void {
    this.#say((machine) => machine.resume(answers, this.host.setup.clock.now()));
  }

  /** What an AG-UI agent asks now. */
  get interrupts(): Interrupt[] {
    return this.#isOver ? [] : (this.#machine?.interrupts ?? []);
  }

  /**
   * The current conversation in the middle of the turn: AG-UI messages, oldest first. Each read copies all of it.
   */
  get messages(): Message[] {
    return this.#running.messages;
  }

  /** The current state shared with an AG-UI agent in the middle of the turn. */
  get sharedState(): Json {
    return this.#running.sharedState;
  }

  /** What the turn has cost so far, over all its hops. `result` has the final cost. */
  get usage(): TokenUsage {
    return this.#running.usage;
  }

  /** The turn as its store knows it, once it has `begun` there. */
  get stored(): StoredTurn | undefined {
    return this.#writer?.stored;
  }

  /**
   * What delays the turn's writes: a store that is full, read-only, or unreachable. For a turn that could not begin
   * this is the reason. The page decides how long to wait, and calls `cancel`.
   */
  get storeTrouble(): StoreError | undefined {
    return this.#trouble;
  }

  /** The conversation from which a stored turn continued, once it has `begun`: its updates follow that conversation. */
  get revivedFrom(): Message[] | undefined {
    return this.#revivedFrom;
  }

  /**
   * Returns the turn as text, for `revive` of its conversation, in this page or a later one. The text holds no key. Prefer `rested`.
   */
  get snapshot(): string {
    return this.#running.snapshot();
  }

  /**
   * Waits until the turn is idle: only the user, or the result of a deferred call, can continue it. Returns its
   * snapshot.
   */
  async rested(): Promise<string> {
    if (!this.#isOver && this.#machine?.isResting) return this.snapshot;
    const rested = new Promise<string>((resolve) => this.#rested.push(resolve));
    const ended = this.ended.then(() => {
      throw misuse("the turn came to its end", "begin another turn");
    });
    return Promise.race([rested, ended]);
  }

  /**
   * Releases the turn without ending it, and returns it as text for `revive` of its conversation, in this page or a later one. The
   * turn's stream is closed, its tools are stopped, and its updates end: best done once it has `rested`. The turn keeps
   * the thread until it is revived or a message is sent on the thread; until then the conversation has nothing of the
   * turn. What the user typed and the turn had not taken is dropped.
   */
  async suspend(): Promise<string> {
    const machine = this.#own;
    if (this.#outcome) {
      // A caller that releases the turn does not wait for its end to be stored.
      this.#writer?.giveUp();
      throw over();
    }
    machine.dispose(this.host.setup.clock.now());
    const snapshot = machine.snapshot();
    this.#journal(machine, machine.takeJournal() + machine.endJournal());
    this.#isSuspended = true;
    this.host.setup.clock.clearTimeout(this.#timer);
    for (const [id, work] of this.#work) if (!isWrite(id)) work.abort();
    // The snapshot counts a write that is under way as done.
    this.#writer?.giveUp();
    await this.#written;
    this.host.left();
    this.#close();
    return snapshot;
  }

  /** Returns the machine, for queries of the app. */
  get #running(): RunMachine {
    if (this.#isOver) throw over();
    if (this.#machine) return this.#machine;
    throw misuse("the turn has not begun: its store is asked first", "wait for `turn.begun`");
  }

  /** Returns the machine, for inputs of the app: none for a turn that has lost its thread. */
  get #own(): RunMachine {
    const machine = this.#running;
    if (this.#counts) return machine;
    throw over();
  }

  /** Whether the turn should continue. A turn that has lost its thread stops itself. */
  get #counts(): boolean {
    if (!this.#isOver && !this.#stop.signal.aborted && this.host.owner?.holds() === false) this.cancel();
    return !this.#stop.signal.aborted;
  }

  #awaited(toolCallId: string): string {
    const effect = this.#running.awaitedResult(toolCallId);
    if (effect === undefined) throw nothingWaits();
    return effect;
  }

  /** An input that is harmless before the turn and after its end. @internal */
  tell(input: Input): void {
    if (this.#machine && this.#counts) this.#take(input);
  }

  /** An input whose refusal the app should learn of. */
  #say(input: Input): void {
    const machine = this.#own;
    this.#carryOut(machine, input(machine));
  }

  #take(input: Input): void {
    if (this.#isOver || !this.#machine) return;
    try {
      this.#carryOut(this.#machine, input(this.#machine));
    } catch (error) {
      this.#break(error);
    }
  }

  /** The machine cannot be trusted any more: there is no end of its own to wait for. */
  #break(error: unknown): void {
    this.#failed = { error };
    this.host.left();
    this.#close();
  }

  /** A journal that cannot be written is no reason to end a turn. */
  #journal({ turn }: RunMachine, lines: string): void {
    if (!lines) return;
    try {
      this.host.setup.journal?.(turn, lines);
    } catch (error) {
      console.warn("stepwell: the journal failed", error);
    }
  }

  #carryOut(machine: RunMachine, { events, effects, wakeAtMs }: Outputs): void {
    const { clock } = this.host.setup;
    this.#journal(machine, machine.takeJournal());
    clock.clearTimeout(this.#timer);
    if (wakeAtMs !== undefined) {
      const wait = Math.min(Math.max(0, wakeAtMs - clock.now()), LONGEST_WAIT);
      this.#timer = clock.setTimeout(() => this.tell((machine) => machine.timeout(clock.now())), wait);
    }
    for (const effect of effects) this.#carryOutEffect(machine, effect);
    for (const event of events) {
      if (event.type === "modelChanged") health.record?.noteHealth(this.host.setup, event.previous, event.after);
      if (event.type === "pending") this.#pending = event.pending;
      if (event.type === "toolCallUpdate") this.#calls.set(event.toolCallId, event.call);
      // The run that took the thread over keeps it: this turn stops.
      if (event.type === "hopStarted" && this.host.owner?.goOn() === false) queueMicrotask(this.cancel);
      if (event.type === "completed") {
        this.#outcome = event.outcome;
        health.record?.noteEnd(this.host.setup, machine.model, event.outcome);
      } else this.#updates.add(event);
    }
    // A turn that ends reports it; one that was over before reports nothing. Not with each chunk: the question is a
    // call in JSON.
    if (events.length === 0) this.#outcome ??= machine.outcome ?? undefined;
    if (this.#outcome) {
      // The last write is stored first.
      if ([...this.#work.keys()].some(isWrite)) return;
      const { shownText: fullText, messages, usage, hop, output } = machine;
      this.#journal(machine, machine.endJournal());
      return this.#conclude({ outcome: this.#outcome, fullText, messages, usage, hops: hop + 1, ...(output === null ? {} : { output }) });
    }
    if (this.#rested.length > 0 && machine.isResting) {
      const snapshot = machine.snapshot();
      for (const resolve of this.#rested.splice(0)) resolve(snapshot);
    }
  }

  #conclude(ended: Ended): void {
    if (ended.outcome.outcome === "cancelled") ended = { ...ended, ...this.#fault };
    const { problem } = ended.outcome;
    if (problem) {
      const { kind, message, advice, retryable, status } = problem;
      this.#failed = { error: new StepwellError(kind, message, advice, { ...this.#machine?.model, status, retryable, cause: ended.cause, result: { output: undefined, ...resultOf(ended) } }) };
    }
    this.#ended = ended;
    this.host.over(ended, this.#machine);
    this.#close();
  }

  #close(): void {
    this.host.setup.clock.clearTimeout(this.#timer);
    this.signal?.removeEventListener("abort", this.cancel);
    for (const work of this.#work.values()) work.abort();
    this.#work.clear();
    this.#begin();
    this.#end();
    this.#updates.wake();
    // Not within a call of the machine.
    queueMicrotask(() => this.#machine?.free());
  }

  #stopWork(effect: string): void {
    this.#work.get(effect)?.abort();
    this.#work.delete(effect);
  }

  #carryOutEffect(machine: RunMachine, effect: Effect): void {
    const { id } = effect;
    if (effect.type === "closeStream" || effect.type === "cancelTool") return this.#stopWork(id);
    if (effect.type === "askApproval") this.#effects.set(effect.invocation.toolCallId, id);
    if (effect.type === "askUser") this.#effects.set(`${effect.invocation.toolCallId}/${id.split(":")[3]}`, id);
    if (effect.type === "answerTool") {
      this.#asked.get(id)?.(effect.answer);
      this.#asked.delete(id);
      return;
    }
    const { setup } = this.host;
    const controller = new AbortController();
    // It outlives the turn, and how it ends changes nothing.
    if (effect.type === "cancelAnswer") return void stream(setup.fetch, id, effect.request, controller.signal, setup.clock.now, () => {});
    this.#work.set(id, controller);
    const { signal } = controller;
    const messages = effect.type === "trimContext" ? sized(machine, effect.messages) : [];
    const { threadId, turn, model } = machine;
    // No code of the app runs within the machine's call, and stopped code passes nothing more. Nothing is begun for a
    // turn that is about to be stopped, but what it said is stored.
    const work = Promise.resolve().then(async () => {
      if (signal.aborted || !(isWrite(id) || this.#counts)) return;
      if (effect.type === "openStream") {
        const take = (input: Input) => this.tell(input);
        return stream(setup.fetch, id, effect.request, signal, setup.clock.now, take);
      }
      const input = await answer(setup, effect, { threadId, turn, model, tools: this.host.tools }, messages, this.#writer, this.#asking, signal);
      if (!input) return;
      if (isWrite(id)) {
        this.#work.delete(id);
        this.#take(input);
      } else if (!signal.aborted) this.tell(input);
    });
    if (isWrite(id)) this.#written = work;
  }
}

/** The messages of the conversation that are counted. */
function sized(machine: RunMachine, counted: ContextMessage[]): Message[] {
  const ids = new Set(counted.map(({ messageId }) => messageId));
  return machine.messages.filter(({ id }) => ids.has(id));
}
