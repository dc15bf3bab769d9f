/** Stepwell for browsers, workers and Node. */

export * from "./agent.js";
export { ChatReducer, type ChatStart } from "./chat-reducer.js";
export { type ChatSendOptions, ChatSession } from "./chat-session.js";
export type { ChatConnection, ChatMessage, ChatPart, ChatProblem, ChatState, ChatStatus, ToolCard } from "./chat-state.js";
export { ContextOverflow, type ModelChooser, type NewRun, type RunSource, type Trimmed, type Trimmer } from "./context.js";
export { Conversation, type ConversationOptions } from "./conversation.js";
export type { Authorization, CredentialRequest, CredentialSource, InstructionsRequest, InstructionsSource } from "./credentials.js";
export type { StoredTurn } from "./durable.js";
export { type ErrorKind, type MisuseCode, StepwellError } from "./error.js";
export { type Hook, type HookedAnswer, type HookedRequest, type HookedResult, HookRefusal } from "./hooks.js";
export { RunMachine } from "./machine.js";
export { audio, type Content, ContentPart, document, file, image, type Media, type MediaOptions, type Prompt, video } from "./media.js";
export {
  agUi,
  anthropic,
  cohere,
  fireworks,
  gemini,
  groq,
  type KnownProvider,
  mistral,
  type Model,
  model,
  type ModelName,
  type ModelOptions,
  nvidia,
  ollama,
  openai,
  openaiCompatible,
  openrouter,
  together,
} from "./model.js";
export { init as default, initSync } from "./module.js";
export type { RunOptions, SendOptions, WithDeps, WithOutput } from "./options.js";
export type { DeepPartial, JsonOutput, Output, StandardResult, StandardSchema } from "./output.js";
export { RunRegistry } from "./registry.js";
export type { StopReason, TurnResult } from "./result.js";
export { newestMessages } from "./session.js";
export type { AgentOptions, Clock, OnToolError } from "./setup.js";
export { type InitInput, type InitOutput, type SyncInitInput, version } from "./stepwell.js";
export { conversationOf, pendingOf } from "./stored-calls.js";
export { type Store, StoreError, type StoreErrorCode } from "./store.js";
export { type Answerer, type Approver, type Decision, Deferred, type JsonSchema, Parts, type Tool, tool, type ToolContext, ToolError, type TypedTool } from "./tools.js";
export { Turn } from "./turn.js";
export type * from "./types.js";
export type * from "./update.js";
