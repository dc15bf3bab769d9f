// The host that plays scenario files: its work for each step, and the results. The names are defined in
// `tests/scenarios/README.md` of the repository.

import { StepwellError } from "./error.js";
import { Screens } from "./scenario-screens.js";
import { RunMachine } from "./machine.js";
import type { CallKey, Effect, HookAnswer, Outcome, Outputs, RunConfig, RunEvent, ToolResult } from "./types.js";

/** JSON of the scenario or the machine. */
export type Fields = Record<string, any>;

/** The run of a step that names none. */
export const RUN = "run";
const encoder = new TextEncoder();

const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
export const snake = (name: string): string => name.replace(/(?!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
const compact = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
const key = (call: CallKey): string => `${call.hop}:${call.index}`;

/** The values of a configuration that are names, and so are spelled differently here. */
const WORDS = new Set(["resumption", "atLimit", "background", "kind", "encoding", "moments", "after", "choice", "type"]);

/** Values that are kept unchanged: schemas, and the provider's own words. */
const VERBATIM = new Set(["parameters", "schema", "extra"]);

/** The names of the scenarios are those of Rust: all else is spelled for JavaScript. */
function config(said: Fields): any {
  const renamed = (value: any, name = ""): any => {
    if (VERBATIM.has(name)) return value;
    if (Array.isArray(value)) return value.map((item) => renamed(item, name));
    if (WORDS.has(name)) return camel(value);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, value]) => [camel(name), renamed(value, camel(name))]),
    );
  };
  return renamed(said);
}

/** The bytes that a `receive` brings. */
function body(step: Fields): Uint8Array {
  let text = (step.sse ?? []).map((data: unknown) => `data: ${compact(data)}\n\n`).join("");
  for (const frame of step.frames ?? []) {
    for (const name of ["id", "event"]) if (name in frame) text += `${name}: ${frame[name]}\n`;
    text += `data: ${compact(frame.data)}\n\n`;
  }
  text += (step.lines ?? []).map((line: unknown) => `${compact(line)}\n`).join("");
  return encoder.encode(text + (step.text ?? ""));
}

/** How a turn ended, in a line. */
export function outcomeLine(ended: Outcome): string {
  switch (ended.outcome) {
    case "incomplete":
      return `incomplete ${snake(ended.reason)}: ${ended.message}`;
    case "limitReached":
      return `limit_reached ${snake(ended.limit.kind)}: ${ended.message}`;
    case "failed":
      return `failed ${snake(ended.failure.failure)}: ${ended.message}`;
    default:
      return ended.outcome;
  }
}

function resultText(result: ToolResult | undefined): string {
  if (result === undefined) return "";
  if (result.type === "finished") return `: ${result.content}`;
  return ` (${snake(result.kind)}): ${result.message}`;
}

/** An event: its kind, what it extends, and its content. */
interface Line {
  kind: string;
  /** The item that an event extends: adjacent lines that extend the same item are joined. */
  grows?: string;
  detail: string;
}

function eventLine(event: RunEvent): Line {
  const kind = /^[A-Z]/.test(event.type) ? event.type.toLowerCase() : snake(event.type);
  const said = (text: unknown): Line => ({ kind, detail: String(text) });
  switch (event.type) {
    case "TEXT_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_CONTENT":
      return { kind, grows: event.messageId, detail: event.delta };
    case "TOOL_CALL_ARGS":
      return { kind, grows: event.toolCallId, detail: event.delta };
    case "partialArguments":
      return { kind, grows: event.toolCallId, detail: "" };
    case "partialOutput":
      return { kind, grows: String(event.hop), detail: "" };
    case "hookRefused":
      return said(`${event.hook} ${snake(event.moment)}, ${event.reason}`);
    case "outputRefused":
      return said(`${event.retriesLeft}, ${event.reason}`);
    case "TOOL_CALL_START":
      return said(event.toolCallName);
    case "TOOL_CALL_RESULT":
      return said(event.content);
    case "STEP_STARTED":
    case "STEP_FINISHED":
      return said(event.stepName);
    case "CUSTOM":
      return said(event.name);
    case "hopStarted":
      return said(`${event.hop} ${event.runId}`);
    case "toolCallUpdate":
      return said(`${key(event.call)} ${snake(event.status)}${resultText(event.result)}`);
    case "retrying":
      return said(`${event.attempt} in ${event.delayMs} ms, ${snake(event.kind)}: ${event.reason}`);
    case "pending":
      return said(event.pending.map(({ id }) => id).join(" "));
    case "interrupted":
      return said(event.interrupts.map((asked) => asked.id).join(" "));
    case "answerDropped":
      return said(event.effect);
    case "warning":
      return said(event.message);
    case "completed":
      return said(outcomeLine(event.outcome));
    case "unknownToolCall":
      return said(event.toolCallId);
    case "steeringTaken":
      return said(`${event.messageId} ${event.hop}`);
    case "steeringRefused":
      return said(snake(event.reason));
    case "waitingForNetwork":
      return said(event.upToMs);
    case "streamResumed":
      return said(`${event.hop}:${event.attempt}`);
    case "toolProgress": {
      const { call, fraction, message } = event;
      const percent = fraction === undefined ? "" : ` ${Math.round(fraction * 100)} %`;
      return said(`${call.hop}:${call.index}${percent}${message === undefined ? "" : ` ${message}`}`);
    }
    case "toolPartialResult":
      return said(`${event.call.hop}:${event.call.index} ${event.content}`);
    case "contextNearlyFull":
      return said(`${event.tokens} of ${event.window}`);
    case "contextTrimmed":
      return said(`${event.tokens}, without ${event.leftOut.join(" ")}`);
    case "modelChanged": {
      const { model, previous, after } = event;
      return said(`${previous.model} to ${model.model}${after === undefined ? "" : ` after ${snake(after)}`}`);
    }
    default:
      return said("");
  }
}

/** The events in a line each; adjacent deltas of the same item are joined, however the bytes were cut. */
function lines(events: RunEvent[]): string[] {
  const lines: Line[] = [];
  for (const line of events.map(eventLine)) {
    const last = lines.at(-1);
    if (last && line.grows !== undefined && last.kind === line.kind && last.grows === line.grows) {
      last.detail += line.detail;
    } else {
      lines.push(line);
    }
  }
  return lines.map(({ kind, detail }) => (detail ? `${kind}: ${detail}` : kind));
}

function effectFields(effect: Effect): Fields {
  switch (effect.type) {
    case "createRun":
      return { thread_id: effect.threadId, parent_run_id: effect.parentRunId };
    case "openStream":
    case "cancelAnswer": {
      const { method, url, headers, body } = effect.request;
      return { method, url, headers: Object.fromEntries(headers), ...(body && { body: JSON.parse(body) }) };
    }
    case "askApproval":
    case "runTool": {
      const { toolCallId, name, arguments: given, rawArguments } = effect.invocation;
      const { attempt } = effect.invocation;
      return { tool_call_id: toolCallId, name, arguments: given, raw_arguments: rawArguments, ...(attempt > 1 && { attempt }) };
    }
    case "askUser": {
      const { message, schema } = effect.question;
      return { tool_call_id: effect.invocation.toolCallId, message, schema };
    }
    case "answerTool": {
      const { value, reason } = effect.answer as Fields;
      return { value, reason };
    }
    case "persist": {
      const { turn, status, outcome, blocks } = effect;
      return { turn, status, outcome: outcome && outcomeLine(outcome), blocks };
    }
    case "decodeOutput":
      return { value: effect.value };
    case "trimContext": {
      const messages = effect.messages.map(({ messageId, tokens }) => ({ message_id: messageId, tokens }));
      return { tokens: effect.tokens, window: effect.window, messages };
    }
    case "chooseModel": {
      const { hop, models, current, tools, tokens } = effect.context;
      const named = models.map(({ name, isResting }) => ({ name, is_resting: isResting }));
      return { context: { hop, models: named, current, tools, tokens } };
    }
    case "authorize":
      return { rejected: effect.rejected };
    case "runHook": {
      const { hook } = effect;
      const subject: Fields = effect.subject;
      const { instructions, messages, text, invocation, content, isError } = subject;
      const call = invocation && { name: invocation.name };
      const args = subject.type === "hookedCall" ? { arguments: invocation.arguments } : {};
      return { hook, instructions, messages, text, content, is_error: isError, ...call, ...args };
    }
    default:
      return {};
  }
}

function effectValue(effect: Effect): Fields {
  const fields = Object.entries(effectFields(effect)).filter(([, field]) => field !== undefined);
  return { id: effect.id, effect: snake(effect.type), ...Object.fromEntries(fields) };
}

/** The runs of a scenario, and their stored data. */
export class ScenarioHost {
  readonly #config: RunConfig;
  readonly #restoreEvery: number;
  runs: Record<string, RunMachine>;
  /** The snapshots of the writes, by run and effect. */
  written: Record<string, string> = {};
  now = 0;
  readonly #screens = new Screens();

  constructor(scenario: Fields, restoreEvery = 1) {
    this.#config = config(scenario.config);
    this.#restoreEvery = restoreEvery;
    this.runs = { [RUN]: new RunMachine(this.#config, "thread-1", scenario.history ?? []) };
    this.#screens.begin(RUN, scenario.history ?? []);
  }

  /** Returns the run of this name. */
  run(name: string = RUN): RunMachine {
    const machine = this.runs[name];
    if (!machine) throw new TypeError(`the scenario has no run \`${name}\`: begin it by \`new_run\``);
    return machine;
  }

  /** Replaces a machine by another, and frees its memory. */
  #put(name: string, machine: RunMachine): void {
    this.runs[name]?.free();
    this.runs[name] = machine;
  }

  restore(name: string, snapshot = this.run(name).snapshot()): void {
    this.#put(name, RunMachine.restore(snapshot, this.#config));
  }

  digests(): Fields {
    return Object.fromEntries(Object.entries(this.runs).map(([name, machine]) => [name, machine.digest()]));
  }

  /** What a chat screen shows of each run. */
  chats(): Fields {
    return Object.fromEntries(Object.entries(this.runs).flatMap(([name, machine]) => this.#screens.shown(name, machine)));
  }

  free(): void {
    this.#screens.free();
    for (const machine of Object.values(this.runs)) machine.free();
  }

  /** Takes one step, and returns its results. */
  step(step: Fields): Fields {
    this.now = step.at ?? this.now;
    const name: string = step.run ?? RUN;
    const came: Outputs[] = [];
    let error: string | undefined;
    try {
      this.#play(name, step, came);
    } catch (thrown) {
      if (!(thrown instanceof StepwellError)) throw thrown;
      error = thrown.message;
    }
    const machine = this.run(name);
    came.push(machine.pollOutputs());
    const effects = came.flatMap((outputs) => outputs.effects);
    this.#screens.take(name, came, this.now);
    for (const effect of effects) {
      if (effect.type === "persist") this.written[`${name} ${effect.id}`] = machine.snapshot();
    }
    const events = lines(came.flatMap((outputs) => outputs.events));
    const gives: Fields = { state: snake(machine.state) };
    const wake = machine.pollTimeout();
    if (wake !== undefined) gives.wake_at = wake;
    if (machine.output !== null) gives.output = machine.output;
    if (error !== undefined) gives.error = error;
    if (effects.length > 0) gives.effects = effects.map(effectValue);
    if (events.length > 0) gives.events = events;
    return gives;
  }

  #play(name: string, step: Fields, came: Outputs[]): void {
    switch (step.input) {
      case "new_run": {
        const history = step.history_of ? this.run(step.history_of).messages : [];
        this.#put(name, new RunMachine(this.#config, step.thread_id ?? "thread-1", history));
        this.#screens.begin(name, history);
        break;
      }
      case "restore":
        this.restore(name);
        break;
      case "revive": {
        const snapshot = step.written ? this.written[`${name} ${step.written}`] : this.run(name).snapshot();
        if (snapshot === undefined) throw new TypeError(`the run \`${name}\` has written no \`${step.written}\``);
        this.#put(name, RunMachine.revive(snapshot, this.#config, this.now));
        this.#screens.resume(name);
        break;
      }
      case "receive": {
        const bytes = body(step);
        const cut: number = step.cut ?? Math.max(bytes.length, 1);
        for (let at = 0; at < bytes.length; at += cut) {
          if (step.restore_between && (at / cut) % this.#restoreEvery === 0) {
            for (const each of Object.keys(this.runs)) this.restore(each);
          }
          came.push(this.run(name).receive(step.effect, bytes.subarray(at, at + cut), this.now));
        }
        break;
      }
      default:
        came.push(this.#input(this.run(name), step));
        this.#screens.act(name, step, this.now);
    }
  }

  #input(machine: RunMachine, step: Fields): Outputs {
    const { now } = this;
    const { effect } = step;
    switch (step.input) {
      case "start": {
        const { run_id: runId, parent_run_id: parentRunId, say: text, message, answers: resume = [], options = {} } = step;
        return machine.start({ runId, parentRunId, text, message, resume, options: config(options) }, now);
      }
      case "run_created":
        return machine.runCreated(effect, step.run_id, now);
      case "opened":
        return machine.opened(effect, step.content_type, now);
      case "refused":
        return machine.refused(effect, step.status, encoder.encode(compact(step.body)), now, step.retry_after_ms);
      case "hook_answered": {
        const { says, reason, message, arguments: given, content, messages, instructions } = step;
        const fields = { reason, message, arguments: given, content, messages, instructions };
        const said = Object.fromEntries(Object.entries(fields).filter(([, field]) => field !== undefined));
        return machine.hookAnswered(effect, { type: camel(says), ...said } as HookAnswer, now);
      }
      case "authorized":
        return machine.authorized(effect, step.key, now, step.headers);
      case "ended":
        return machine.ended(effect, now);
      case "tool_deferred":
        return machine.toolDeferred(effect, now);
      case "persisted":
        return machine.persisted(effect, now);
      case "run_not_created":
        return machine.runNotCreated(effect, step.message, now);
      case "connection_failed":
        return machine.connectionFailed(effect, step.message, now);
      case "lost":
        return machine.lost(effect, step.message, now);
      case "tool_failed":
        return machine.toolFailed(effect, step.message, now);
      case "context_not_trimmed":
        return machine.contextNotTrimmed(effect, step.message, now);
      case "not_authorized":
        return machine.notAuthorized(effect, step.message, now);
      case "persist_failed":
        return machine.persistFailed(effect, step.message, now);
      case "model_resting":
        return machine.modelResting(step.model, step.until_ms, now);
      case "model_chosen":
        return machine.modelChosen(effect, step.model, now);
      case "model_not_chosen":
        return machine.modelNotChosen(effect, step.message, now);
      case "output_decoded":
        return machine.outputDecoded(effect, now);
      case "output_refused":
        return machine.outputRefused(effect, step.reason, now);
      case "tool_finished":
        return machine.toolFinished(effect, step.content, now);
      case "tool_progress":
        return machine.toolProgress(effect, step.fraction, step.message, now);
      case "tool_partial_result":
        return machine.toolPartialResult(effect, step.content, now);
      case "tool_asks":
        return machine.toolAsks(effect, step.number, { message: step.message, schema: step.schema }, now);
      case "answer":
        return machine.answer(effect, step.value, now);
      case "decline":
        return machine.decline(effect, step.reason, now);
      case "approve":
        return machine.approve(effect, now, step.arguments);
      case "deny":
        return machine.deny(effect, step.reason, now);
      case "context_trimmed":
        return machine.contextTrimmed(effect, step.keep, now, step.summary);
      case "resume":
        return machine.resume(step.answers, now);
      case "cancel_call": {
        const [hop = NaN, index = NaN] = step.call.split(":").map(Number);
        return machine.cancelCall({ hop, index }, now);
      }
      case "steer":
        return machine.steer({ id: step.message_id, role: "user", content: step.say }, now);
      case "cancel":
        return machine.cancel(now);
      case "entered_background":
        return machine.enteredBackground(now);
      case "entered_foreground":
        return machine.enteredForeground(now);
      case "network_lost":
        return machine.networkLost(now);
      case "network_available":
        return machine.networkAvailable(now);
      case "dispose":
        return machine.dispose(now);
      case "timeout":
        return machine.timeout(now);
      default:
        throw new TypeError(`there is no input \`${step.input}\``);
    }
  }
}
