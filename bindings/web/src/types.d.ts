/** Any JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** An AG-UI message: `@ag-ui/core` has the types of all roles. */
export interface Message {
  id: string;
  role: "user" | "assistant" | "tool" | "system" | "developer" | "reasoning" | "activity";
  [field: string]: unknown;
}

/**
 * All that a run is to know before it starts. It is no part of a snapshot, so keys never reach the store. What is left out
 * is the default; `null`, where a type has it, is none: no limit, no wait.
 */
export interface RunConfig {
  /** The provider's name, such as `openai` or `openai-compatible`; `ag-ui` for an agent. */
  provider: string;
  model?: string;
  /** Which of the provider's APIs; its usual one if left out. */
  api?: string;
  /** An address in place of the provider's own; for AG-UI the agent's whole address. */
  baseUrl?: string;
  /** The API key. Whoever opens a page can read what it holds: give it only where the user brings their own. */
  key?: string;
  /** Headers to send besides the provider's own. */
  headers?: Record<string, string>;
  /** The app's own instructions; sent first, and no part of the history. */
  instructions?: string;
  tools?: ToolDefinition[];
  settings?: GenerationSettings;
  limits?: Limits;
  retry?: RetryPolicy;
  timeouts?: Timeouts;
  /** Who makes the ids of the hops' runs: the core from the turn's own, or the backend, which `createRun` asks. */
  runIds?: "derived" | "host";
  /** With a number, each finished block is given out to be stored, and a write is tried that often. */
  persistAttempts?: number;
  /** Whether tool calls' arguments are parsed while they stream, for the event `partialArguments`. */
  partialArguments?: boolean;
  device?: DevicePolicy;
  /** How a stream that breaks off is gone on with. As Stepwell knows the provider if left out. */
  resumption?: "never" | "lastEventId" | "replay" | "snapshot";
  /** Providers of the app's own, each as in the file that `stepwell --providers` takes. */
  providers?: Json[];
  /** How the model's text is shown. The history stays as the model wrote it. */
  text?: TextOptions;
  /** What happens when the conversation fills the model's context window. */
  context?: ContextGuard;
  /** How an AG-UI agent differs from what is expected of one. */
  agUi?: AgUiOptions;
}

/** A tool as the model sees it, and how it may be run. Its code stays with the app. */
export interface ToolDefinition {
  /** 1 to 64 letters, digits, `_` and `-`. */
  name: string;
  /** What it does and when to use it, for the model. */
  description: string;
  /** The JSON Schema of its arguments; a tool without arguments if left out. */
  parameters?: { [name: string]: Json };
  /** Whether the user must allow each call. */
  requiresApproval?: boolean;
  /** Whether running it twice does no more than running it once. Only such a tool is run again after a crash. */
  idempotent?: boolean;
  /** Whether asking again with the same arguments makes sense. Else the model is told when it goes in a circle. */
  repeatable?: boolean;
  timeoutMs?: number;
}

/** How the model is to answer. What is left out is as the provider has it. */
export interface GenerationSettings {
  temperature?: number;
  maxOutputTokens?: number;
  /** Whether the model may, must or must not call tools, or which. */
  toolChoice?: "auto" | "never" | "required" | { name: string };
  parallelToolCalls?: boolean;
  responseFormat?: "text" | "json" | { name: string; schema: Json; strict: boolean };
  reasoning?: "off" | "low" | "medium" | "high";
  /** Whether the prompt is marked for the provider's cache, for the providers that want marks. */
  cachePrompt?: boolean;
  /**
   * Fields for the request's body in the provider's own words; they win over Stepwell's. Tools that the provider runs
   * itself (`tools`) stand beside the app's.
   */
  extra?: { [name: string]: Json };
  /** What an AG-UI agent is to know beside the conversation. Other APIs are not sent it. */
  context?: ContextEntry[];
}

/** Something that an AG-UI agent is to know: AG-UI's `Context`. */
export interface ContextEntry {
  /** What it is. */
  description: string;
  /** What it says. */
  value: string;
}

/** How far a run may go; `null` is without a limit. */
export interface Limits {
  /** 10 if left out. */
  maxToolRounds?: number;
  /** Whether the model goes on with the results of its tools. */
  continueAfterTools?: boolean;
  maxToolCalls?: number | null;
  maxTokens?: number | null;
  maxDurationMs?: number | null;
  /** The most tools of a round that run side by side: 8 if left out. */
  maxParallelTools?: number;
  /** So often the same is run, 3 times, and so often it may be asked for, 5 times; `null` is without end. */
  repeats?: { tellAfter?: number | null; stopAfter?: number | null };
  /** What happens when the model asks for tools beyond one of these limits; `complete` if left out. */
  atLimit?: "fail" | "complete" | "sumUp";
  /**
   * The most bytes of one answer: its text, reasoning, arguments, results, activities and shared state, with 256 for
   * each message and call; 32 MiB if left out. An answer that goes beyond is stopped at once, and the turn fails.
   */
  maxAnswerBytes?: number;
  /** The most calls that one answer may leave without a result: 1,000 if left out. */
  maxAnswerCalls?: number;
  maxLineBytes?: number;
  maxEventBytes?: number;
}

/** When a request that failed is tried again: before anything of the answer was seen, or where it can be resumed. */
export interface RetryPolicy {
  /** The most tries for one hop, the first included: 4 if left out. */
  attempts?: number;
  firstDelayMs?: number;
  maxDelayMs?: number;
  maxRetryAfterMs?: number;
  /** By how much a pause may be shorter or longer, as a part of it. */
  jitter?: number;
  seed?: number;
}

/** How long things may take; `null` is without end. */
export interface Timeouts {
  /** How long the model may be silent. */
  silenceMs?: number | null;
  /** How long a tool may take, if it does not say so itself. */
  toolMs?: number | null;
  turnMs?: number | null;
  approvalMs?: number | null;
  deferredMs?: number | null;
  /** How long the stream of an answer that is over may stay open: for what the answer cost, say. */
  closingMs?: number | null;
}

/** What happens to a run when something happens to the device. */
export interface DevicePolicy {
  background?: "continue" | "pauseClocks" | "cancel";
  /** How long requests wait for a network; with `null` they are sent all the same. */
  offlineMs?: number | null;
  networkChange?: "keep" | "reopen";
  killed?: "continue" | "cancel";
}

/** How the model's text is shown. */
export interface TextOptions {
  /** A line break goes before the first text after tool calls; `true` if left out. */
  breakAfterTools?: boolean;
  /** A message is shown from its first character on that is no blank. */
  dropBlank?: boolean;
}

/** What happens when the conversation fills the model's context window. */
export interface ContextGuard {
  /** The most tokens that the model takes; what Stepwell knows of it if left out. */
  window?: number | null;
  /** From which part of the window on it is said, 0.8 if left out; never if `null`. */
  warnAt?: number | null;
  atLimit?: "send" | "fail" | "trim";
}

/** How an AG-UI agent differs from what is expected of one. What is left out is as Stepwell knows the provider. */
export interface AgUiOptions {
  /** The encodings of the event stream that it is offered, the first one first. What it answers with decides. */
  encoding?: "json" | "jsonFirst" | "protobufFirst";
  /** Whether it is from before AG-UI 1.0, and stumbles over a `protocolVersion`: none is sent then. */
  isBefore10?: boolean;
  /** Whether the app is handed events and fields that AG-UI 1.0 does not know; the protocol has them dropped. */
  keepsUnknown?: boolean;
  /** What becomes of events that break the order that the protocol allows; `protocol` if nothing is known. */
  verification?: "protocol" | "lenient";
  /** What becomes of breaches of the rules that the reference client does not check; `warn` if nothing is known. */
  extraRules?: "off" | "warn" | "fatal";
}

/** What starts a turn: `text` or `message`; with neither it goes on from a history that wants an answer. */
export interface Start {
  /** The turn's id, unique in the thread. */
  runId: string;
  parentRunId?: string;
  text?: string;
  message?: Message;
  /** The answers to the interrupts that an earlier turn of an AG-UI agent ended with. */
  resume?: ResumeEntry[];
}

/** The user's answer to one interrupt, as AG-UI has it. */
export interface ResumeEntry {
  interruptId: string;
  status: "resolved" | "cancelled";
  payload?: Json;
}

/** Something an agent asks the user, as AG-UI has it. */
export interface Interrupt {
  id: string;
  reason: string;
  message?: string;
  toolCallId?: string;
  responseSchema?: Json;
  expiresAt?: string;
  [field: string]: unknown;
}

/** A tool call's place: the hop that asked for it and its position among that hop's calls, both from 0. */
export interface CallKey {
  hop: number;
  index: number;
}

/** Where a run stands. */
export type StateKind =
  | "idle"
  | "opening"
  | "streaming"
  | "executingTools"
  | "waiting"
  | "interrupted"
  | "completed";

/** What a run gives the app after one input: all of it. */
export interface Outputs {
  /** What to show, in order. */
  events: RunEvent[];
  /** What to do, in order. */
  effects: Effect[];
  /** When the run wants to be woken with `timeout`, in milliseconds since the epoch. */
  wakeAtMs?: number;
}

/** Something to do. It stays pending under its id until it is answered. */
export type Effect =
  | { type: "createRun"; id: string; threadId: string; parentRunId?: string }
  | { type: "openStream"; id: string; request: HttpRequest }
  | { type: "closeStream"; id: string }
  | { type: "askApproval"; id: string; invocation: ToolInvocation }
  | { type: "runTool"; id: string; invocation: ToolInvocation }
  | { type: "cancelTool"; id: string }
  | {
      type: "persist";
      id: string;
      turn: string;
      status: "streaming" | "complete" | "failed" | "cancelled";
      outcome?: Outcome;
      blocks: { sequence: number; hop: number; content: { type: string; [field: string]: Json } }[];
      snapshot: string;
    }
  | {
      type: "trimContext";
      id: string;
      tokens: number;
      window: number;
      messages: { messageId: string; tokens: number }[];
    };

/** A request for `fetch`: `headers` is what `new Headers` takes. One of them may hold the API key: do not log them. */
export interface HttpRequest {
  method: string;
  url: string;
  headers: [string, string][];
  body: string;
}

/** A call that is to be run, checked against its tool's schema. */
export interface ToolInvocation {
  call: CallKey;
  toolCallId: string;
  name: string;
  arguments: { [name: string]: Json };
  /** The arguments just as the model wrote them. */
  rawArguments: string;
}

/** What the user is shown of a turn: AG-UI's events, whose types are in capitals, and those of the turn. */
export type RunEvent = AgUiEvent | TurnEvent;

/** An event of the protocol, unchanged; neighbouring pieces of one text come as one. `@ag-ui/core` has all types. */
export type AgUiEvent =
  | { type: "TEXT_MESSAGE_START"; messageId: string; role?: string }
  | { type: "TEXT_MESSAGE_CONTENT"; messageId: string; delta: string }
  | { type: "TEXT_MESSAGE_END"; messageId: string }
  | { type: "TOOL_CALL_START"; toolCallId: string; toolCallName: string; parentMessageId?: string }
  | { type: "TOOL_CALL_ARGS"; toolCallId: string; delta: string }
  | { type: "TOOL_CALL_END"; toolCallId: string }
  | { type: "TOOL_CALL_RESULT"; messageId: string; toolCallId: string; content: Json }
  | { type: "REASONING_MESSAGE_START"; messageId: string }
  | { type: "REASONING_MESSAGE_CONTENT"; messageId: string; delta: string }
  | { type: "REASONING_MESSAGE_END"; messageId: string }
  | { type: "STATE_SNAPSHOT"; snapshot: Json }
  | { type: "STATE_DELTA"; delta: Json[] }
  | { type: "STEP_STARTED" | "STEP_FINISHED"; stepName: string }
  | { type: "CUSTOM"; name: string; value: Json }
  | {
      type:
        | "MESSAGES_SNAPSHOT"
        | "ACTIVITY_SNAPSHOT"
        | "ACTIVITY_DELTA"
        | "REASONING_START"
        | "REASONING_END"
        | "REASONING_ENCRYPTED_VALUE"
        | "SUBAGENT_STARTED"
        | "SUBAGENT_FINISHED"
        | "SUBAGENT_ERROR"
        | "RAW";
      [field: string]: unknown;
    };

/** An event of the turn itself. From `started` to `completed` it is one unbroken turn, however many hops it takes. */
export type TurnEvent =
  | { type: "started"; threadId: string; runId: string }
  | { type: "hopStarted"; hop: number; runId: string }
  | {
      type: "toolCall";
      call: CallKey;
      toolCallId: string;
      name: string;
      status: ToolCallStatus;
      result?: { type: "finished"; content: Json } | { type: "failed"; kind: ToolFailureKind; message: string };
    }
  | { type: "partialArguments"; call: CallKey; toolCallId: string; changes: ArgumentsChange[]; stopped?: string }
  | { type: "retrying"; attempt: number; delayMs: number; reason: string }
  | { type: "interrupted"; interrupts: Interrupt[] }
  | { type: "answerDropped"; effect: string }
  | { type: "warning"; message: string }
  | { type: "completed"; outcome: Outcome }
  | { type: "unknownToolCall"; toolCallId: string }
  | { type: "steeringTaken"; messageId: string; hop: number }
  | { type: "steeringRefused"; message: Message; reason: string; explanation: string }
  | { type: "waitingForNetwork"; upToMs: number }
  | { type: "streamResumed"; hop: number; attempt: number }
  | { type: "contextNearlyFull"; tokens: number; window: number }
  | { type: "contextTrimmed"; leftOut: string[]; tokens: number };

/** Where a tool call stands. */
export type ToolCallStatus =
  | "streaming"
  | "pending"
  | "awaitingApproval"
  | "executing"
  | "deferred"
  | "completed"
  | "failed"
  | "denied"
  | "cancelled";

/** The kinds of tool failures. A tool itself can give `error`, `panicked` and `timedOut`. */
export type ToolFailureKind =
  | "error"
  | "panicked"
  | "timedOut"
  | "rejected"
  | "denied"
  | "cancelled"
  | "outcomeUnknown"
  | "limitReached"
  | "repeated";

/** A change of arguments that stream, at a JSON Pointer. A change of the whole (path `""`) begins anew. */
export type ArgumentsChange =
  | { op: "add" | "replace"; path: string; value: Json }
  | { op: "append"; path: string; text: string }
  | { op: "end"; path: string };

/** What kept a turn from a whole answer. */
export interface Problem {
  /** By this an app acts. */
  kind:
    | "authentication"
    | "rateLimit"
    | "invalidRequest"
    | "notFound"
    | "serverError"
    | "overloaded"
    | "contextTooLong"
    | "contentFiltered"
    | "refused"
    | "cut"
    | "limitReached"
    | "connectionFailed"
    | "timedOut"
    | "unreadable"
    | "agentFailed"
    | "notStored"
    | "stopped";
  /** What is wrong, in a sentence. */
  message: string;
  /** What to do about it. */
  advice: string;
  /** Whether the same may go well another time. */
  retryable: boolean;
}

/** How a turn ended. `problem` is what kept it from a whole answer: all but `success` have one. */
export type Outcome = { problem?: Problem } & (
  | { outcome: "success" | "cancelled" | "truncated" }
  | { outcome: "incomplete"; reason: "length" | "contentFilter" | "refusal" | "limit"; message: string }
  | { outcome: "limitReached"; limit: { kind: string; [field: string]: Json }; message: string }
  | { outcome: "failed"; failure: { failure: string; [field: string]: Json }; message: string; transient: boolean }
);

/** How many tokens a turn used, over all its hops, as AG-UI counts them. An absent count is unknown, not zero. */
export interface TokenUsage {
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  [field: string]: unknown;
}

/** What is thrown when a call cannot be done. What goes wrong within a turn is no error: it is the turn's outcome. */
export interface StepwellError extends Error {
  name: "StepwellError";
  kind: "configuration" | "invalidArgument" | "misuse" | "snapshot";
  /** What to do about it. */
  advice: string;
}
