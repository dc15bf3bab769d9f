// The updates of a turn: types alone. An update is the run's event as it came.

import type { AgUiEvent, RunEvent } from "./types.js";

/** An update of a turn, tagged by its `type`: what a loop over the turn yields. The end of the turn is no update. */
export type Update =
  | Started
  | HopStarted
  | TextUpdate
  | ReasoningUpdate
  | ToolCallUpdate
  | ToolArgumentsUpdate
  | ToolProgress
  | ToolPartialResult
  | OutputUpdate
  | OutputRefused
  | PendingUpdate
  | Interrupted
  | Retrying
  | ModelChanged
  | WaitingForNetwork
  | StreamResumed
  | SteeringTaken
  | SteeringRefused
  | ContextNearlyFull
  | ContextTrimmed
  | HookRefused
  | WarningUpdate
  | AgUiUpdate;

type Of<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>;

/** The turn begins. */
export type Started = Of<"started">;

/** The turn continues with another request. It is for logs, and nothing to show. */
export type HopStarted = Of<"hopStarted">;

/** A delta of the answer's text. */
export type TextUpdate = Of<"TEXT_MESSAGE_CONTENT">;

/** A delta of the model's reasoning. */
export type ReasoningUpdate = Of<"REASONING_MESSAGE_CONTENT">;

/** The status of a tool call has changed; with its result at the end. */
export type ToolCallUpdate = Of<"toolCallUpdate">;

/** The parsed changes of a tool call's arguments; only with `partialArguments`. */
export type ToolArgumentsUpdate = Of<"partialArguments">;

/** A running tool reports its progress. */
export type ToolProgress = Of<"toolProgress">;

/** A running tool shows its result so far. */
export type ToolPartialResult = Of<"toolPartialResult">;

/** The typed answer has grown: `partialOutputStream` has what there is of it. */
export type OutputUpdate = Of<"partialOutput">;

/** The typed answer does not fit its type: the model gets the reason, and is asked again. */
export type OutputRefused = Of<"outputRefused">;

/** What the turn waits for has changed: this is all of it now. `approve` and the like of the turn reply. */
export type PendingUpdate = Of<"pending">;

/** An AG-UI agent asks the user; the turn waits for `resume`. */
export type Interrupted = Of<"interrupted">;

/** A request failed, and is sent again. */
export type Retrying = Of<"retrying">;

/**
 * Another model is asked from here on: after a failure of the previous one, or because the app chose it, or the previous
 * one rests; then there is no `after`.
 */
export type ModelChanged = Of<"modelChanged">;

/** There is no network: the next request waits for it. */
export type WaitingForNetwork = Of<"waitingForNetwork">;

/** A stream that broke off is open again, and continues where it stopped. */
export type StreamResumed = Of<"streamResumed">;

/** A message that the user sent during the turn is in the conversation now, and this hop answers it. */
export type SteeringTaken = Of<"steeringTaken">;

/** A message that the user sent during the turn was not taken, and is returned, for the input field say. */
export type SteeringRefused = Of<"steeringRefused">;

/** The conversation nearly fills the model's context window. */
export type ContextNearlyFull = Of<"contextNearlyFull">;

/** The turn continues without some messages, which did not fit the model's context window. */
export type ContextTrimmed = Of<"contextTrimmed">;

/** A hook has refused, or failed. */
export type HookRefused = Of<"hookRefused">;

/** Something odd that did not stop the turn. */
export type WarningUpdate = Of<"warning" | "answerDropped" | "unknownToolCall">;

/** Any other AG-UI event: where a message begins and ends, a shared state, an activity, what an agent sends of its own. */
export type AgUiUpdate = Exclude<AgUiEvent, TextUpdate | ReasoningUpdate>;
