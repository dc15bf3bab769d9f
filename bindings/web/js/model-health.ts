// Which models of this page have failed a short time ago: turns with a fallback ask others first. It is loaded where there is
// a fallback.

import type { RunMachine } from "./machine.js";
import type { Setup } from "./setup.js";
import type { ErrorKind, FallbackModel, Outcome, RunConfig } from "./types.js";

/** The most models that are remembered; of more, all are forgotten. */
const MOST = 1_024;

/** When the rest of each model ends. */
const rests = new Map<string, number>();

/** The models that a turn may ask. It is here too, so that this module shares none with what is loaded before it. */
const modelsOf = (config: RunConfig): FallbackModel[] => [config as FallbackModel, ...config.fallback!.models!];

const keyOf = ({ provider, baseUrl, model }: FallbackModel): string => [provider, baseUrl, model].join("\n");

/** Tells a run that is to begin which of its models rest: nothing if it has one alone. @internal */
export function tellRests({ config, clock: { now } }: Setup, machine: RunMachine): void {
  modelsOf(config).forEach((model, number, { length }) => {
    const until = rests.get(keyOf(model))!;
    if (length > 1 && until > now()) machine.modelResting(number, until, now());
  });
}

/** Notes how a model fared: the kind of its failure, or `success`. @internal */
export function noteHealth({ config, clock: { now } }: Setup, named: RunMachine["model"], fared: string | undefined): void {
  const model = modelsOf(config).find(({ provider, model }) => provider === named?.provider && model === named.model);
  if (!model) return;
  if (fared === "success") rests.delete(keyOf(model));
  const { after, restMs } = config.fallback!;
  if (!after!.includes(fared as ErrorKind)) return;
  if (rests.size > MOST) rests.clear();
  rests.set(keyOf(model), now() + restMs!);
}

/** Notes how a turn ended that asked this model last. @internal */
export function noteEnd(setup: Setup, named: RunMachine["model"], outcome: Outcome): void {
  // The deadline of a turn is no model's fault.
  const isTurns = outcome.outcome === "failed" && outcome.failure.failure === "timedOut" && outcome.failure.deadline === "turn";
  if (!isTurns) noteHealth(setup, named, outcome.problem?.kind ?? outcome.outcome);
}
