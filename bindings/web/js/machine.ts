// The machine: how it is made, what it is told, and what may be asked of it.

import { answered, made, misuse, wrong, written } from "./module.js";
import { Machine } from "./stepwell.js";
import type {
  CallKey, HookAnswer, Interrupt, Json, Message, Outcome, Outputs, Question, ResumeEntry, RunConfig, Start, StateKind, TokenUsage, ToolFailureKind,
} from "./types.js";

/** The time, or the clock's. Whole milliseconds. */
const at = (nowMs?: number | null): number => Math.max(0, Math.trunc(nowMs ?? Date.now()));

/** Bytes: of a text the module would take as many zeros. */
function checked(bytes: Uint8Array): Uint8Array {
  if (!ArrayBuffer.isView(bytes)) throw wrong("the body is no `Uint8Array`", "give the bytes as `fetch` gives them; of a text, `new TextEncoder().encode(text)`");
  return bytes;
}

/**
 * A turn without any IO: the app owns the network, the tools, the clock and the store.
 *
 * Each input is one call, and each call gives back all that came of it: `events` to show and `effects` to carry out and
 * to answer by their ids. `nowMs` is the time in milliseconds since the epoch; the clock's if left out. Call `timeout` when
 * `wakeAtMs` of the latest outputs has come.
 *
 * The host's loop: `start`; for an `openStream` call `fetch`, then `opened`, then `receive` for every piece of the
 * body, then `ended` (or `refused`, `connectionFailed`, `lost`); for a `runTool` run the tool and call `toolFinished` or
 * `toolFailed`; until `outcome` is there. Wrong calls throw a `StepwellError`, and change nothing.
 */
export class RunMachine {
  #machine: Machine | undefined;
  #journal = "";

  /**
   * A run that is ready to start, on a conversation as it stands: AG-UI messages, oldest first, and the state shared with
   * an AG-UI agent. With `journal` all inputs are written down, for `takeJournal`.
   */
  constructor(config: RunConfig, threadId: string, history?: Message[] | null, sharedState?: Json, journal?: boolean | null) {
    this.#machine = made(() => {
      // From `restore` and `revive`, which have made it.
      if ((config as unknown) instanceof Machine) return config as unknown as Machine;
      const making = { config, threadId, history: history ?? [], sharedState, journal: journal ?? false };
      return new Machine(written("the run", making));
    });
  }

  static #of(making: object): RunMachine {
    return new RunMachine(made(() => new Machine(written("the run", making))) as unknown as RunConfig, "");
  }

  /** A stored run in the same page, which was suspended and goes on: what the app was given to do, it still does. */
  static restore(snapshot: string, config: RunConfig): RunMachine {
    return RunMachine.#of({ config, restore: snapshot });
  }

  /**
   * A stored run whose page was closed. A request that had shown nothing goes out again; a stream that was open is
   * resumed where the server can, else what was shown of the answer stays, marked as cut, and it is asked for anew; a
   * tool that had begun is run again only if it says that it is idempotent, and else the model is told that its outcome
   * is unknown. Take `pollOutputs` first. With `journal` all further inputs are written down, in a journal of their own.
   */
  static revive(snapshot: string, config: RunConfig, nowMs?: number | null, journal?: boolean | null): RunMachine {
    return RunMachine.#of({ config, revive: snapshot, nowMs: at(nowMs), journal: journal ?? false });
  }

  get #own(): Machine {
    if (!this.#machine) throw misuse("the machine was given back with `free`", "make another one, or call `free` later");
    return this.#machine;
  }

  #outputs(text: string): Outputs {
    const { outputs, journal = "" } = answered<{ outputs: Outputs; journal?: string }>(text);
    this.#journal += journal;
    return outputs;
  }

  #tell(input: string, nowMs?: number | null, fields: object = {}): Outputs {
    return this.#outputs(this.#own.call(written("the call", { input, ...fields }), at(nowMs)));
  }

  #ask<T>(ask: string, fields: object = {}): T {
    return answered<{ answer: T }>(this.#own.ask(written("the question", { ask, ...fields }))).answer;
  }

  /** Gives the machine's memory back at once; else it is given back when the machine is collected. */
  free(): void {
    this.#machine?.free();
    this.#machine = undefined;
  }

  /** As `free`, at the end of a `using`. */
  [Symbol.dispose](): void {
    this.free();
  }

  /** What waits without an input of its own: after `revive`. */
  pollOutputs(): Outputs {
    return this.#outputs(this.#own.pollOutputs());
  }

  /** Starts the turn. */
  start(start: Start, nowMs?: number | null): Outputs {
    return this.#tell("start", nowMs, { start });
  }

  /** The backend created a run. */
  runCreated(effect: string, runId: string, nowMs?: number | null): Outputs {
    return this.#tell("runCreated", nowMs, { effect, runId });
  }

  /** The backend did not create a run. */
  runNotCreated(effect: string, message: string, nowMs?: number | null): Outputs {
    return this.#tell("runNotCreated", nowMs, { effect, message });
  }

  /** The provider answered with a 2xx status: the body follows. `contentType` is the response's header. */
  opened(effect: string, contentType?: string | null, nowMs?: number | null): Outputs {
    return this.#tell("opened", nowMs, { effect, contentType });
  }

  /**
   * The provider answered with any other status. `body` is the beginning of its answer, 64 KiB are plenty;
   * `retryAfterMs` the wait that its `Retry-After` asks for.
   */
  refused(effect: string, status: number, body: Uint8Array, retryAfterMs?: number | null, nowMs?: number | null): Outputs {
    const wait = retryAfterMs == null ? undefined : at(retryAfterMs);
    return this.#tell("refused", nowMs, { effect, status, body: new TextDecoder().decode(checked(body)), retryAfterMs: wait });
  }

  /** No answer came at all. */
  connectionFailed(effect: string, message: string, nowMs?: number | null): Outputs {
    return this.#tell("connectionFailed", nowMs, { effect, message });
  }

  /** Bytes of the body, as many as the transport gave, cut anywhere. */
  receive(effect: string, bytes: Uint8Array, nowMs?: number | null): Outputs {
    return this.#outputs(this.#own.receive(effect, checked(bytes), at(nowMs)));
  }

  /** The body ended as it should. */
  ended(effect: string, nowMs?: number | null): Outputs {
    return this.#tell("ended", nowMs, { effect });
  }

  /** The connection broke within the body. */
  lost(effect: string, message: string, nowMs?: number | null): Outputs {
    return this.#tell("lost", nowMs, { effect, message });
  }

  /** A tool gave a result: text, JSON as text, or AG-UI content parts. */
  toolFinished(effect: string, content: string | Json[], nowMs?: number | null): Outputs {
    return this.#tell("toolFinished", nowMs, { effect, content });
  }

  /** A tool failed; the model is shown the message. `kind` is `error` if left out. */
  toolFailed(effect: string, message: string, nowMs?: number | null, kind?: ToolFailureKind | null): Outputs {
    return this.#tell("toolFailed", nowMs, { effect, message, kind: kind ?? "error" });
  }

  /** The tool has begun something whose result comes later, in minutes or days, with `toolFinished` or `toolFailed`. */
  toolDeferred(effect: string, nowMs?: number | null): Outputs {
    return this.#tell("toolDeferred", nowMs, { effect });
  }

  /** A running tool says how far it has come, from 0 to 1 if that is known, and what it does now. */
  toolProgress(effect: string, fraction?: number | null, message?: string | null, nowMs?: number | null): Outputs {
    return this.#tell("toolProgress", nowMs, { effect, fraction, message });
  }

  /**
   * A running tool shows what it has so far, in the place of what it showed before: text, or an array of content parts;
   * 256 KiB at most.
   */
  toolPartialResult(effect: string, content: string | Json[], nowMs?: number | null): Outputs {
    return this.#tell("toolPartialResult", nowMs, { effect, content });
  }

  /**
   * A running tool asks the user. The effects `askUser` and then `answerTool` have the id `ask:HOP:INDEX:NUMBER`, with
   * the question's `number` among those of the call, counted from 0 each time that the tool is run. A tool that is run
   * again after a crash and asks the same at the same place is given the answer of before.
   */
  toolAsks(effect: string, number: number, question: Question, nowMs?: number | null): Outputs {
    return this.#tell("toolAsks", nowMs, { effect, number, question });
  }

  /** The user answered a tool's question. An answer that does not fit its schema throws, and it is still asked. */
  answer(effect: string, value: Json, nowMs?: number | null): Outputs {
    return this.#tell("answer", nowMs, { effect, value });
  }

  /** The user does not answer a tool's question. The reason is for the tool. */
  decline(effect: string, reason?: string | null, nowMs?: number | null): Outputs {
    return this.#tell("decline", nowMs, { effect, reason });
  }

  /**
   * The user allows the call. With `edited` it is run with these arguments in the place of the model's, and the
   * model is told; if they do not fit the tool, that throws, and the call is still asking.
   */
  approve(effect: string, nowMs?: number | null, edited?: Json): Outputs {
    return this.#tell("approve", nowMs, { effect, arguments: edited });
  }

  /** The user does not allow the call. The reason is for the model to read. */
  deny(effect: string, reason?: string | null, nowMs?: number | null): Outputs {
    return this.#tell("deny", nowMs, { effect, reason });
  }

  /**
   * The conversation is to go on with the messages of these ids; what belongs to them is kept with them. The model
   * is told `summary` in the place of the others. The history stays whole.
   */
  contextTrimmed(effect: string, keep: string[], nowMs?: number | null, summary?: string | null): Outputs {
    return this.#tell("contextTrimmed", nowMs, { effect, keep, summary });
  }

  /** There is no way to shorten the conversation: the turn fails. */
  contextNotTrimmed(effect: string, message: string, nowMs?: number | null): Outputs {
    return this.#tell("contextNotTrimmed", nowMs, { effect, message });
  }

  /** The app has decoded the typed answer: it counts. */
  outputDecoded(effect: string, nowMs?: number | null): Outputs {
    return this.#tell("outputDecoded", nowMs, { effect });
  }

  /** The app cannot decode the typed answer. The reason is for the model to read, which is asked again if it may be. */
  outputRefused(effect: string, reason: string, nowMs?: number | null): Outputs {
    return this.#tell("outputRefused", nowMs, { effect, reason });
  }

  /** The key of the next request, and headers to send besides. Neither is stored. */
  authorized(effect: string, key?: string | null, nowMs?: number | null, headers?: Record<string, string> | null): Outputs {
    return this.#tell("authorized", nowMs, { effect, key, headers: headers ?? {} });
  }

  /** There are no credentials for the next request: the turn fails. */
  notAuthorized(effect: string, message: string, nowMs?: number | null): Outputs {
    return this.#tell("notAuthorized", nowMs, { effect, message });
  }

  /** A hook has looked. An answer that changes something else than it was asked about is none to the effect. */
  hookAnswered(effect: string, answer: HookAnswer, nowMs?: number | null): Outputs {
    return this.#tell("hookAnswered", nowMs, { effect, answer });
  }

  /** Blocks are stored. */
  persisted(effect: string, nowMs?: number | null): Outputs {
    return this.#tell("persisted", nowMs, { effect });
  }

  /** Blocks could not be stored. */
  persistFailed(effect: string, message: string, nowMs?: number | null): Outputs {
    return this.#tell("persistFailed", nowMs, { effect, message });
  }

  /** The user answered the agent's questions, all of them. */
  resume(answers: ResumeEntry[], nowMs?: number | null): Outputs {
    return this.#tell("resume", nowMs, { answers });
  }

  /** The user stops the turn. What is over stays as it is. */
  cancel(nowMs?: number | null): Outputs {
    return this.#tell("cancel", nowMs);
  }

  /** The user stops one call. The others go on, and the model is told. */
  cancelCall(call: CallKey, nowMs?: number | null): Outputs {
    return this.#tell("cancelCall", nowMs, { call });
  }

  /**
   * The user types during the turn: an AG-UI message of the role `user`. It waits until the next hop begins, and is
   * answered in this turn; if it cannot be, the event `steeringRefused` gives it back.
   */
  steer(message: Message, nowMs?: number | null): Outputs {
    return this.#tell("steer", nowMs, { message });
  }

  /**
   * What the user was shown by a host that died, as AG-UI messages: for a run that was revived, before any other
   * input. What the run does not know of it stays, marked with `metadata.cut`, and the answer is asked for anew.
   */
  shown(messages: Message[], nowMs?: number | null): Outputs {
    return this.#tell("shown", nowMs, { messages });
  }

  /**
   * The app goes to the background; see `DevicePolicy`. Like the following three, it is taken in every state, and
   * harmless when repeated.
   */
  enteredBackground(nowMs?: number | null): Outputs {
    return this.#tell("enteredBackground", nowMs);
  }

  /** The app is in the foreground again. */
  enteredForeground(nowMs?: number | null): Outputs {
    return this.#tell("enteredForeground", nowMs);
  }

  /** The network that the server is reached over is gone. */
  networkLost(nowMs?: number | null): Outputs {
    return this.#tell("networkLost", nowMs);
  }

  /** There is a network, or another one took the place of the one before. */
  networkAvailable(nowMs?: number | null): Outputs {
    return this.#tell("networkAvailable", nowMs);
  }

  /**
   * The page goes away: the outputs stop what it has begun, and give back what the user typed. The turn does not
   * end by it: it can go on elsewhere, by `revive` from the `snapshot`. Each later input throws.
   */
  dispose(nowMs?: number | null): Outputs {
    return this.#tell("dispose", nowMs);
  }

  /** Time has passed: what is due is done. */
  timeout(nowMs?: number | null): Outputs {
    return this.#tell("timeout", nowMs);
  }

  /** When to call `timeout`, in milliseconds since the epoch; all outputs say so too. */
  pollTimeout(): number | undefined {
    return this.#ask<number | null>("timeoutAt") ?? undefined;
  }

  /**
   * Whether nothing but the user, or the result of a deferred call, can move the run on: store its `snapshot`, and
   * let go of it until then, or until `pollTimeout`.
   */
  get isResting(): boolean {
    return this.#ask("isResting");
  }

  /** Whether `dispose` was called. */
  get isDisposed(): boolean {
    return this.#ask("isDisposed");
  }

  /** The id of the effect under which the result of a tool call is awaited, by the provider's id for the call. */
  awaitedResult(toolCallId: string): string | undefined {
    return this.#ask<string | null>("awaitedResult", { toolCallId }) ?? undefined;
  }

  /** Where the run stands. */
  get state(): StateKind {
    return this.#ask("state");
  }

  /** How the turn ended, once it has. */
  get outcome(): Outcome | undefined {
    return this.#ask<Outcome | null>("outcome") ?? undefined;
  }

  /** What the agent asks the user, while it does. */
  get interrupts(): Interrupt[] {
    return this.#ask("interrupts");
  }

  /** All that the model has said since the user's last message. */
  get text(): string {
    return this.#ask("text");
  }

  /** The same as it is shown: see `TextOptions`. */
  get shownText(): string {
    return this.#ask("shownText");
  }

  /** The conversation: AG-UI messages, oldest first. */
  get messages(): Message[] {
    return this.#ask("messages");
  }

  /** The state shared with an AG-UI agent. */
  get sharedState(): Json {
    return this.#ask("sharedState");
  }

  /**
   * What is certain so far of the arguments of a call of the hop in progress, by the provider's id for it; `null`
   * while nothing is. Only with `RunConfig.partialArguments`.
   */
  partialArguments(toolCallId: string): Json {
    return this.#ask("partialArguments", { toolCallId });
  }

  /** The typed answer; `null` if there was to be none, and until the turn has ended well. */
  get output(): Json {
    return this.#ask("output");
  }

  /** What is certain so far of the typed answer of the hop in progress; `null` while nothing is. */
  get partialOutput(): Json {
    return this.#ask("partialOutput");
  }

  /** What the turn has cost so far, over all its hops. */
  get usage(): TokenUsage {
    return this.#ask("usage");
  }

  /** The hop, from 0. */
  get hop(): number {
    return this.#ask("hop");
  }

  /** The conversation's id. */
  get threadId(): string {
    return this.#ask<string | null>("threadId") ?? "";
  }

  /** The turn: the run id of its first hop. Empty before it has started. */
  get turn(): string {
    return this.#ask<string | null>("turn") ?? "";
  }

  /** The run id of the hop. */
  get runId(): string {
    return this.#ask<string | null>("runId") ?? "";
  }

  /**
   * A digest of how the run stands: its state, outcome, cost and conversation. Runs that stand alike have the same,
   * in every language and on every machine.
   */
  digest(): string {
    return this.#ask("digest");
  }

  /** The run as text, to be stored and given to `restore` or `revive`. It holds no key. */
  snapshot(): string {
    return this.#ask("snapshot");
  }

  /**
   * The lines of the journal that were written since the last call; empty without a journal. They hold all that is
   * said, but no key. The program's `stepwell replay` replays them.
   */
  takeJournal(): string {
    const lines = this.#journal;
    this.#journal = "";
    return lines;
  }

  /** Closes the journal, since the run is over or the page leaves it, and gives its last lines. */
  endJournal(): string {
    return this.takeJournal() + answered<{ answer: string }>(this.#own.endJournal()).answer;
  }
}
