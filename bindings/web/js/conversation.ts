// A conversation: what is remembered between turns.

import type { Engine } from "./engine.js";
import { misuse } from "./error.js";
import type { Prompt } from "./media.js";
import type { Given, SendOptions, WithOutput } from "./options.js";
import type { Reply } from "./reply.js";
import type { TurnResult } from "./result.js";
import type { Store } from "./store.js";
import type { Beginner } from "./stored.js";
import type { Thread } from "./thread.js";
import { shown } from "./tools.js";
import type { Turn } from "./turn.js";
import type { Json, Message, Pending, ThreadKey, ToolDefinition, TurnRecord, WhenBusy } from "./types.js";

/** How a conversation begins. One that is in use already, or that its store has, continues as it is. */
export interface ConversationOptions<Deps = unknown> {
  /** The conversation's id, alone or with its server and room; a random one if left out. */
  id?: string | ThreadKey | undefined;
  /** An earlier conversation to continue: AG-UI messages, oldest first. */
  history?: Message[];
  /** The state shared with an AG-UI agent. */
  sharedState?: Json;
  /** Where its turns are stored, instead of the agent's store. */
  store?: Store;
  /** What happens to a turn that begins while another one is under way, instead of what the agent says. */
  whenBusy?: WhenBusy;
  /** The value for the tools of turns that are given none, such as one that continues here after a reply. */
  deps?: Deps;
}

/**
 * What is remembered of turns with an agent: `agent.conversation(id)` returns it. Letting go of it frees it, and what
 * its store has of it stays there.
 */
export class Conversation<T = string, Deps = unknown> {
  readonly #engine: Engine;
  readonly #thread: Thread;
  /** The options of turns that have no others. */
  readonly #defaults: { whenBusy?: WhenBusy; deps?: Deps } | undefined;

  /** @internal */
  constructor(engine: Engine, thread: Thread, defaults?: { whenBusy?: WhenBusy; deps?: Deps }) {
    this.#engine = engine;
    this.#thread = thread;
    this.#defaults = defaults;
  }

  /** The conversation's id. */
  get id(): string {
    return this.#thread.key.thread;
  }

  /** The conversation's id, with its server and room. */
  get key(): Required<ThreadKey> {
    return this.#thread.key;
  }

  /** The conversation after its last turn: AG-UI messages, oldest first. Of a stored one, `load` it first. */
  get messages(): Message[] {
    return this.#thread.messages;
  }

  /** The definitions of the agent's tools. @internal */
  get tools(): ToolDefinition[] {
    return this.#thread.place.setup.config.tools ?? [];
  }

  /** The agent's clock. @internal */
  now(): number {
    return this.#thread.place.setup.clock.now();
  }

  /** The stored turns; absent without a store. Throws the store's `StoreError`. @internal */
  async storedTurns(): Promise<TurnRecord[] | undefined> {
    const stored = await this.#thread.place.stored?.();
    return stored?.turns(this.#thread.key);
  }

  /** The state shared with an AG-UI agent, after the last turn. */
  get sharedState(): Json {
    return this.#thread.sharedState;
  }

  /**
   * Sends a message to the model, and returns the result of the turn: a text, texts and media in order (`["What is
   * this?", await image(file)]`), or an AG-UI message. Throws a `StepwellError` if the answer is incomplete, also if the
   * turn was cancelled.
   */
  async send<U>(prompt: Prompt, options: SendOptions<Deps> & WithOutput<U>): Promise<TurnResult<U>>;
  async send(prompt: Prompt, ...options: Given<SendOptions<Deps>>): Promise<TurnResult<T>>;
  async send(prompt: Prompt, options: object = {}): Promise<TurnResult<unknown>> {
    return this.#send(prompt, options).result;
  }

  /** Sends a message to the model, and returns the turn, whose updates are to be read. */
  stream<U>(prompt: Prompt, options: SendOptions<Deps> & WithOutput<U>): Turn<U>;
  stream(prompt: Prompt, ...options: Given<SendOptions<Deps>>): Turn<T>;
  stream(prompt: Prompt, options: object = {}): Turn<unknown> {
    return this.#send(prompt, options);
  }

  /**
   * Sends another message instead of the one that a stored turn began with: a new branch, from the conversation before
   * that turn, which stays. Needs a store.
   */
  resend<U>(turn: string, prompt: Prompt, options: SendOptions<Deps> & WithOutput<U>): Turn<U>;
  resend(turn: string, prompt: Prompt, ...options: Given<SendOptions<Deps>>): Turn<T>;
  resend(turn: string, prompt: Prompt, options: object = {}): Turn<unknown> {
    return this.#send(prompt, options, { resent: turn });
  }

  /**
   * Begins a turn that follows the stored turn `parent` instead of the last one, or a first one without `parent`. The
   * turns that followed `parent` before stay in the store as another branch. Needs a store.
   */
  branch<U>(parent: string | undefined, prompt: Prompt, options: SendOptions<Deps> & WithOutput<U>): Turn<U>;
  branch(parent: string | undefined, prompt: Prompt, ...options: Given<SendOptions<Deps>>): Turn<T>;
  branch(parent: string | undefined, prompt: Prompt, options: object = {}): Turn<unknown> {
    return this.#send(prompt, options, { parent });
  }

  /**
   * Continues a turn of this conversation that `Turn.rested` or `suspend` returned, in this process or a later one. With
   * a store it continues from the store's data of the turn, which is at least as new.
   */
  revive<U>(snapshot: string, options: SendOptions<Deps> & WithOutput<U>): Turn<U>;
  revive(snapshot: string, ...options: Given<SendOptions<Deps>>): Turn<T>;
  revive(snapshot: string, options: object = {}): Turn<unknown> {
    return this.#engine.revive(this.#thread, snapshot, { ...this.#defaults, ...options });
  }

  /**
   * What the conversation's turn waits for, in whichever page or process that turn is. Empty if no turn is under way.
   * Throws the store's `StoreError`.
   */
  async pending(): Promise<readonly Pending[]> {
    const { live, place, key } = this.#thread;
    return live?.pending ?? (await place.stored?.())?.pending(key) ?? [];
  }

  /**
   * Lets the call run that waits for approval under this id, with other arguments than the model's if they are given. A
   * turn of another page gets the reply there; one that no page drives continues here, to its end, with the conversation's `deps`.
   *
   * Throws if nothing waits under the id, or the arguments do not fit the tool; then nothing changes. Throws a `StoreError`
   * if the store, or the page that drives the turn, cannot be reached: another process cannot. The same holds for the
   * following methods.
   */
  async approve(id: string, changed?: { [name: string]: Json }): Promise<void> {
    await this.reply(id, { verb: "approve", value: changed });
  }

  /** Denies the call, or declines the question, that waits under this id. The model, or the tool, gets the reason. */
  async deny(id: string, reason?: string): Promise<void> {
    await this.reply(id, { verb: "deny", value: reason });
  }

  /** Answers the question of a running tool that waits under this id. */
  async answer(id: string, value: Json): Promise<void> {
    await this.reply(id, { verb: "answer", value });
  }

  /** Supplies the result of a deferred tool call, by the provider's id for it. */
  async resolveCall(toolCallId: string, result: unknown): Promise<void> {
    await this.reply(toolCallId, { verb: "resolve", value: shown(result) });
  }

  /** Returns the turn if it continues here. @internal */
  reply(id: string, reply: Reply, options?: object): Promise<Turn<T> | undefined> {
    return this.#engine.reply(this.#thread, id, reply, { ...this.#defaults, ...options });
  }

  #send<U>(prompt: Prompt, options: object, from?: Beginner["from"]): Turn<U> {
    if (from && !this.#thread.place.stored) {
      throw misuse("the conversation has no store to take the earlier turn from", "give the agent, or the conversation, a `store`");
    }
    return this.#engine.send(this.#thread, prompt, { ...this.#defaults, ...options }, from);
  }

  /**
   * Returns the conversation as its store has it: AG-UI messages, oldest first, which are `messages` from then on. A
   * call without a result still runs, or waits for an answer, perhaps in another page. Throws the store's `StoreError`.
   */
  async load(): Promise<Message[]> {
    const thread = this.#thread;
    const { last } = thread;
    const stored = await thread.place.stored?.();
    const loaded = await stored?.load(thread.key, last);
    // The conversation of a turn since then is newer.
    if (loaded?.last !== undefined && thread.last === last) Object.assign(thread, loaded);
    return loaded?.messages ?? thread.messages;
  }

  /** Cancels the turns that are under way, and those that wait for them. */
  cancel(): void {
    for (const turn of [...this.#thread.turns]) turn.cancel();
  }

  /**
   * Cancels the turns that are under way, forgets the conversation, and deletes it from its store. Returns whether the
   * store had it. Throws the store's `StoreError`.
   */
  async delete(): Promise<boolean> {
    const { registry, key, place } = this.#thread;
    registry?.remove(key);
    this.#thread.forget();
    registry?.changed();
    const stored = await place.stored?.();
    return stored?.delete(key) ?? false;
  }
}
