// An agent: a model with instructions and tools.

import { Conversation, type ConversationOptions } from "./conversation.js";
import { Engine } from "./engine.js";
import { wrong } from "./error.js";
import { RunMachine } from "./machine.js";
import type { Prompt } from "./media.js";
import { loaded } from "./module.js";
import { type AnyOptions, type Given, type RunOptions, whenBusyOf, type WithDeps, type WithOutput } from "./options.js";
import type { TurnResult } from "./result.js";
import { type AgentOptions, setUp } from "./setup.js";
import type { Store } from "./store.js";
import type { Turn } from "./turn.js";
import type { TurnKey } from "./types.js";

/** An unfinished turn of a store that this process continues. */
export interface Recovered<T = string, Deps = unknown> {
  /** The key of the turn. */
  key: TurnKey;
  /** The turn's conversation. */
  conversation: Conversation<T, Deps>;
  /** The turn under way. Absent if it cannot continue. */
  turn?: Turn<T>;
  /** Why the turn cannot continue. It stays unfinished in the store, until a message is sent in its conversation. */
  error?: unknown;
}

/**
 * A model with instructions and tools: a definition, which remembers nothing, and which any number of users can share.
 * `run` and `stream` are one turn each; `conversation` returns what is remembered.
 */
export class Agent<T = string, Deps = unknown> {
  readonly #engine: Engine;
  readonly #store: Store | undefined;

  /** Throws a `StepwellError` of the kind `misuse` if the options do not work. Nothing is sent yet. */
  constructor(options: AgentOptions<T, Deps>) {
    loaded();
    if (typeof options !== "object" || options === null) throw wrong("an `Agent` is made of options", "give it a `model`");
    const { store, waitForStore = false, registry, whenBusy, ...rest } = options;
    const setup = setUp(rest);
    new RunMachine(setup.config, "").free();
    this.#engine = new Engine({ ...setup, config: structuredClone(setup.config) }, registry, waitForStore, whenBusyOf(whenBusy));
    this.#store = store;
  }

  /**
   * Runs one turn, which is not remembered, and returns its result. `prompt` is a text, texts and media in order
   * (`["What is this?", await image(file)]`), or an AG-UI message. Throws a `StepwellError` if the answer is incomplete,
   * also if the turn was cancelled. An answer that does not fit the type of `output` goes back to the model with the
   * path and the reason, before that is an error. Nobody can reply to the turn: without an `approver` and an `answerer`
   * calls that need an approval are denied, and questions declined.
   */
  async run<U>(prompt: Prompt, options: RunOptions<Deps> & WithOutput<U>): Promise<TurnResult<U>>;
  async run(prompt: Prompt, ...options: Given<RunOptions<Deps>>): Promise<TurnResult<T>>;
  async run(prompt: Prompt, options: object = {}): Promise<TurnResult<unknown>> {
    const alone: AnyOptions = { ...options, isAlone: true };
    return this.#engine.send(this.#engine.once(), prompt, alone).result;
  }

  /** Begins one turn, which is not remembered, and returns it: its updates are to be read. */
  stream<U>(prompt: Prompt, options: RunOptions<Deps> & WithOutput<U>): Turn<U>;
  stream(prompt: Prompt, ...options: Given<RunOptions<Deps>>): Turn<T>;
  stream(prompt: Prompt, options: object = {}): Turn<unknown> {
    return this.#engine.send(this.#engine.once(), prompt, options);
  }

  /**
   * Returns the conversation of this id, which remembers its turns: the same one as long as it is in use, the store's if
   * there is a store, a new one otherwise.
   */
  conversation(options?: ConversationOptions<Deps>): Conversation<T, Deps>;
  conversation(id: ConversationOptions["id"], options?: Omit<ConversationOptions<Deps>, "id">): Conversation<T, Deps>;
  conversation(given: ConversationOptions["id"] | ConversationOptions<Deps> = {}, options: ConversationOptions<Deps> = {}): Conversation<T, Deps> {
    const isId = typeof given === "string" || "thread" in given;
    const { id = crypto.randomUUID(), history, sharedState, store = this.#store, ...defaults }: ConversationOptions<Deps> = isId ? { ...options, id: given } : { ...given, ...options };
    const thread = this.#engine.thread(this.#engine.place(store), id, history, sharedState);
    return new Conversation(this.#engine, thread, defaults);
  }

  /**
   * Continues every unfinished turn of the store that no page drives any more: turns that closed pages left. Call it when
   * the app starts, and as often as needed after that; turns that are under way are left alone, those of other pages too
   * if the browser has `navigator.locks`. Throws the store's `StoreError`.
   */
  async recover(...[options]: Given<WithDeps<Deps> & { store?: Store }>): Promise<Recovered<T, Deps>[]> {
    const { store = this.#store, deps } = (options ?? {}) as AnyOptions & { store?: Store };
    const recovered = await this.#engine.recover<T>(this.#engine.place(store), { deps });
    return recovered.map(({ thread, ...rest }) => ({ ...rest, conversation: new Conversation(this.#engine, thread) }));
  }

  /**
   * Reports that the app goes to the background; see `DevicePolicy`. Like the following methods, this one applies to all
   * turns of the agent, and to later ones.
   */
  enteredBackground(): void {
    this.#engine.background(true);
  }

  /** Reports that the app is in the foreground again. */
  enteredForeground(): void {
    this.#engine.background(false);
  }

  /** Reports that the network is gone. */
  networkLost(): void {
    this.#engine.network(true);
  }

  /** Reports that there is a network, or that another one replaced it. */
  networkAvailable(): void {
    this.#engine.network(false);
  }

  /**
   * Follows the browser: whether the page is hidden or shown, and whether there is a network, now and after each
   * change. Returns a function that stops that.
   */
  followDevice(): () => void {
    const stop = new AbortController();
    const { signal } = stop;
    if (globalThis.document?.visibilityState === "hidden") this.enteredBackground();
    if (globalThis.navigator?.onLine === false) this.networkLost();
    const seen = () => this.#engine.background(document.visibilityState === "hidden");
    globalThis.document?.addEventListener("visibilitychange", seen, { signal });
    globalThis.addEventListener?.("offline", () => this.networkLost(), { signal });
    globalThis.addEventListener?.("online", () => this.networkAvailable(), { signal });
    return () => stop.abort();
  }

  /** How many turns and conversations of this agent's memory are in use, for tests. @internal */
  get inUse(): { turns: number; conversations: number } {
    return { turns: this.#engine.turns.size, conversations: this.#engine.memory.threads.size };
  }
}
