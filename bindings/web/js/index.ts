/** Stepwell for browsers, workers and Node. */

export * from "./agent.js";
export { init as default, initSync, RunMachine } from "./module.js";
export { conversationOf, RunRegistry, version } from "./stepwell.js";
export type * from "./stepwell.js";
export { type Store, StoreError, type StoreErrorKind } from "./store.js";
export * from "./tools.js";
export { type Finished, Turn, TurnError } from "./turn.js";
