// The machine: how it is created, and the methods that are not calls in JSON.

import { RunCalls } from "./calls.js";
import { plain } from "./configuration.js";
import { misuse } from "./error.js";
import { answered, bodyBytes, made, milliseconds, written } from "./module.js";
import { Machine } from "./stepwell.js";
import type { Compaction, Json, Message, ModelName, Outputs, RunConfig, TurnRecord } from "./types.js";

/** The time, or the clock's. */
const at = (nowMs?: number | null): number => milliseconds(nowMs) ?? Date.now();

/**
 * A turn without any IO: the app owns the network, the tools, the clock and the store.
 *
 * Each input is one call, and each call returns all of its outputs: `events` to show and `effects` to carry out and to
 * answer by their ids. `nowMs` is the time in milliseconds since the epoch; the clock's if left out. Call `timeout`
 * when `wakeAtMs` of the latest outputs has come.
 *
 * The host's loop: `start`; for an `openStream` call `fetch`, then `opened`, then `receive` for every chunk of the
 * body, then `ended` (or `refused`, `connectionFailed`, `lost`); for a `runTool` run the tool and call `toolFinished`
 * or `toolFailed`; until `outcome` is there. Wrong calls throw a `StepwellError`, and change nothing.
 */
export class RunMachine extends RunCalls {
  #machine: Machine | undefined;
  #journal = "";

  /**
   * Creates a run that is ready to start, on an existing conversation: AG-UI messages, oldest first, and the state
   * shared with an AG-UI agent. With `journal` all inputs are recorded, for `takeJournal`. `compaction` is what requests no
   * longer carry of the conversation: that of the run before.
   */
  constructor(config: RunConfig, threadId: string, history?: Message[] | null, sharedState?: Json, journal?: boolean | null, compaction?: Compaction | null) {
    super();
    this.#machine = made(() => {
      // From `restore` and `revive`, which have created it.
      if ((config as unknown) instanceof Machine) return config as unknown as Machine;
      const making = { config: plain(config), threadId, history: history ?? [], sharedState, journal: journal ?? false, compaction };
      return new Machine(written("the run", making));
    });
  }

  static #of(making: object): RunMachine {
    return new RunMachine(made(() => new Machine(written("the run", making))) as unknown as RunConfig, "");
  }

  /**
   * Restores a run that was suspended and continues in the same page: the app still carries out the effects that it has
   * received.
   */
  static restore(snapshot: string, config: RunConfig): RunMachine {
    return RunMachine.#of({ config: plain(config), restore: snapshot });
  }

  /**
   * Revives a stored run whose page was closed. A request that had shown nothing is sent again. A stream that was open
   * is resumed where the server can; if not, what was shown of the answer stays, marked as cut, and the answer is asked
   * for again. A tool that had begun is run again only if it is idempotent; for other tools the model is informed that
   * the outcome is unknown. Take `pollOutputs` first. With `journal` all further inputs are recorded, in a journal of
   * their own.
   */
  static revive(snapshot: string, config: RunConfig, nowMs?: number | null, journal?: boolean | null): RunMachine {
    return RunMachine.#of({ config: plain(config), revive: snapshot, nowMs: at(nowMs), journal: journal ?? false });
  }

  /**
   * Revives a stored run whose page was closed, as `revive` does, from a store's data: the newest checkpoint of the
   * turn, and the turns of its thread, or only those on the path to it. Read all of them at one time: a turn with more
   * blocks than were stored with its checkpoint, or with fewer, is refused.
   */
  static reviveFrom(checkpoint: string, turns: TurnRecord[], turn: string, config: RunConfig, nowMs?: number | null, journal?: boolean | null): RunMachine {
    const reviveFrom = { checkpoint, turns, turn };
    return RunMachine.#of({ config: plain(config), reviveFrom, nowMs: at(nowMs), journal: journal ?? false });
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

  protected tell(input: string, nowMs: number | null | undefined, fields: object = {}): Outputs {
    return this.#outputs(this.#own.call(written("the call", { input, ...fields }), at(nowMs)));
  }

  protected ask<T>(ask: string, fields: object = {}): T {
    return answered<{ answer: T }>(this.#own.ask(written("the question", { ask, ...fields }))).answer;
  }

  /** The model that the run asks now; null before its start. */
  get model(): ModelName | null {
    return this.ask("model");
  }

  /** What requests no longer carry of the conversation, for the next run to begin with; null if they carry all. */
  get compaction(): Compaction | null {
    return this.ask("compaction");
  }

  /** Frees the machine's memory at once; otherwise it is freed when the machine is collected. */
  free(): void {
    this.#machine?.free();
    this.#machine = undefined;
  }

  /** As `free`, at the end of a `using`. */
  [Symbol.dispose](): void {
    this.free();
  }

  /** Returns the outputs that wait without an input: after `revive`. */
  pollOutputs(): Outputs {
    return this.#outputs(this.#own.pollOutputs());
  }

  /** Bytes of the body, in chunks as the transport gave them, cut anywhere. */
  receive(effect: string, bytes: Uint8Array, nowMs?: number | null): Outputs {
    return this.#outputs(this.#own.receive(effect, bodyBytes(bytes), at(nowMs)));
  }

  /**
   * The user sends a message during the turn: an AG-UI message of the role `user`. The message waits until the next hop
   * begins, and is answered in this turn; if that is not possible, the event `steeringRefused` returns it.
   */
  steer(message: Message, nowMs?: number | null): Outputs {
    return this.tell("steer", nowMs, { message });
  }

  /**
   * Returns the lines of the journal since the last call; empty without a journal. They hold the whole conversation,
   * but no key. The program's `stepwell replay` replays them.
   */
  takeJournal(): string {
    const lines = this.#journal;
    this.#journal = "";
    return lines;
  }

  /** Closes the journal, because the run is over or the page leaves it, and returns its last lines. */
  endJournal(): string {
    return this.takeJournal() + answered<{ answer: string }>(this.#own.endJournal()).answer;
  }
}
