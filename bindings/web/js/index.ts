/** Stepwell for browsers, workers and Node. */

export * from "./agent.js";
export { ContextOverflow, type NewRun, type OutputDecoder, type RunSource, type Trimmed, type Trimmer } from "./context.js";
export type { Authorization, CredentialRequest, CredentialSource, InstructionsRequest, InstructionsSource } from "./credentials.js";
export type { StoredTurn } from "./durable.js";
export { type Hook, type HookedAnswer, type HookedRequest, type HookedResult, HookRefusal } from "./hooks.js";
export { type Finished, TurnError } from "./finished.js";
export type { DeepPartial, JsonOutput, Output, StandardResult, StandardSchema } from "./output.js";
export { audio, type Content, ContentPart, document, file, image, type Media, type MediaOptions, type Said, video } from "./media.js";
export { RunMachine } from "./machine.js";
export { init as default, initSync } from "./module.js";
export { RunRegistry } from "./registry.js";
export { conversationOf, newestMessages } from "./session.js";
export type { AgentOptions, Clock } from "./setup.js";
export { type InitInput, type InitOutput, type SyncInitInput, version } from "./stepwell.js";
export { type Store, StoreError, type StoreErrorKind } from "./store.js";
export { type Answerer, type Approver, type Decision, Deferred, Parts, type Tool, type ToolContext, ToolError } from "./tools.js";
export { Turn } from "./turn.js";
export type * from "./types.js";
