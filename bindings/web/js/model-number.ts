// The numbers of the models that a turn may ask, and their record, once it is loaded.

import type { RunMachine } from "./machine.js";
import type { RunConfig } from "./types.js";

/** The number of a model; -1 if there is none of these names. @internal */
export const numberOf = (config: RunConfig, named: RunMachine["model"]): number =>
  [config, ...config.fallback!.models!].findIndex(({ provider, model }) => provider === named?.provider && model === named.model);


/** The record of which models have failed: absent before the first turn with a fallback. @internal */
export const health: { record?: typeof import("./model-health.js") } = {};

/** Loads the record. Without it, turns ask the models in their order. @internal */
export const loadHealth = async (): Promise<void> => {
  health.record ??= await import("./model-health.js").catch(() => undefined);
};
