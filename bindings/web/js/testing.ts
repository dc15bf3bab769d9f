/** Plays scenario files in the tests of an app: runs as data, which every language plays to the same end. */

import { differences, unexpected } from "./scenario-checks.js";
import { type Fields, ScenarioHost } from "./scenario-host.js";

/**
 * A scenario file, as `JSON.parse` reads it. `tests/scenarios` of Stepwell's repository has its form, in `schema.json` and
 * `README.md`.
 */
export interface Scenario {
  /** The configuration of the run. */
  config: object;
  /** The steps: one `input` each, and in `gives` the expected results. */
  steps: object[];
  /** How the run must end. */
  expect?: object;
  /** The expected state of each run at its end. */
  digests?: object;
  /** What a chat screen must show of each run at its end. */
  chats?: object;
  [name: string]: unknown;
}

/** A scenario that was played. */
export interface Played {
  /**
   * The scenario with the outputs of each step (`gives`), how its runs ended (`digests`), and what a chat
   * screen shows of them (`chats`).
   */
  scenario: Scenario;
  /** The differences from the scenario's `gives`, `digests`, `chats` and `expect`; empty if there are none. */
  unmet: string[];
}

/**
 * Plays a scenario from its beginning to its end, without network and clock: `init` of `stepwell` must have been called.
 *
 * A step without `gives` is only played, and digests are compared if there are any. A step with `restore_between`
 * stores and restores its runs before every chunk of a stream, or before every `restoreEvery`th. Throws a
 * `StepwellError` if the run cannot be set up, and a `TypeError` if the scenario is not of the form.
 */
export function play(scenario: Scenario, { restoreEvery = 1 }: { restoreEvery?: number } = {}): Played {
  if (!(restoreEvery >= 1)) throw new TypeError(`\`restoreEvery\` is ${restoreEvery}: give 1 or more`);
  const host = new ScenarioHost(scenario, restoreEvery);
  try {
    const steps = scenario.steps.map((step): Fields => ({ ...step, gives: host.step(step) }));
    const played: Scenario & { steps: Fields[] } = { ...scenario, steps, digests: host.digests(), chats: host.chats() };
    return { scenario: played, unmet: [...differences(scenario, played), ...unexpected(scenario.expect ?? {}, steps, host)] };
  } finally {
    host.free();
  }
}
