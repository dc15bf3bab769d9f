// A chat: a conversation with what a screen shows of it.

import { ChatReducer } from "./chat-reducer.js";
import type { ChatProblem, ChatState } from "./chat-state.js";
import type { Conversation } from "./conversation.js";
import { misuse, nothingWaits, StepwellError, words } from "./error.js";
import { messageOf, type Prompt } from "./media.js";
import type { SendOptions } from "./options.js";
import type { Reply } from "./reply.js";
import type { TurnResult } from "./result.js";
import { shown } from "./tools.js";
import type { Turn } from "./turn.js";
import type { Json, ResumeEntry } from "./types.js";

/** The options of a message. Approvals and questions are the session's own. */
export type ChatSendOptions<Deps = unknown> = Omit<SendOptions<Deps>, "approver" | "answerer" | "whenBusy">;

/**
 * A conversation as a chat screen needs it: `getSnapshot` is what the screen shows, `subscribe` reports its changes, and
 * the other methods are what the user does. It needs no framework; `stepwell/react` has the hook.
 *
 * One session drives a conversation. Its approvals and questions are in the state's `pending`, and go to no `approver`
 * and `answerer` of the agent.
 */
export class ChatSession<T = string, Deps = unknown> {
  readonly #conversation: Conversation<T, Deps>;
  readonly #options: Partial<ChatSendOptions<Deps>>;
  #reducer: ChatReducer;
  #state: ChatState;
  #listeners = new Set<() => void>();
  #isStale = false;
  #turn: Turn<T> | undefined;
  /** The answers to the agent's interrupts, until there are all of them. */
  #resumed = new Map<string, ResumeEntry>();
  #last: Prompt = null;
  #loading: Promise<void> | undefined;

  /** `options` are those of every message: `deps`, `settings` and the like. */
  constructor(conversation: Conversation<T, Deps>, options: Partial<ChatSendOptions<Deps>> = {}) {
    this.#conversation = conversation;
    this.#options = options;
    this.#reducer = new ChatReducer({ messages: conversation.messages, tools: conversation.tools });
    this.#state = this.#reducer.state;
  }

  /** The conversation. */
  get conversation(): Conversation<T, Deps> {
    return this.#conversation;
  }

  /** What the screen shows now: the same object until something changes. */
  getSnapshot = (): ChatState => this.#state;

  /** Calls the listener after each change; several updates that arrive together are one change. Returns a function that stops that. */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /**
   * Loads the conversation from its store, once; nothing happens without a store. A turn that another page drives is
   * shown as far as it is stored. Throws the store's `StoreError`.
   */
  load = (): Promise<void> => (this.#loading ??= this.#load());

  async #load(): Promise<void> {
    try {
      const turns = await this.#conversation.storedTurns();
      await this.#conversation.load();
      if (this.#turn || !turns?.length) return;
      this.#reducer.free();
      this.#reducer = new ChatReducer({ turns, tools: this.#conversation.tools });
      this.#state = this.#reducer.state;
      for (const listener of [...this.#listeners]) listener();
    } catch (error) {
      this.#loading = undefined;
      throw error;
    }
  }

  /**
   * Sends a message, and returns the result of the turn, or `undefined` if the turn failed or was cancelled: the state
   * then has the `problem`. Throws a `StepwellError` of the kind `busy` while another turn is under way: `steer` sends a
   * message during a turn.
   */
  send = async (prompt: Exclude<Prompt, null>, options: Partial<ChatSendOptions<Deps>> = {}): Promise<TurnResult<T> | undefined> => {
    this.#refuseWhileBusy();
    this.#last = prompt;
    return this.#begin(prompt, options);
  };

  /**
   * Sends the last message again after a failed turn. The part of the answer that arrived stays; a message that was not
   * answered at all is there once.
   */
  retry = async (options: Partial<ChatSendOptions<Deps>> = {}): Promise<TurnResult<T> | undefined> => {
    this.#refuseWhileBusy();
    const { messages } = this.#conversation;
    if (messages.at(-1)?.role === "user") return this.#begin(null, options);
    const asked = messages.filter(({ role }) => role === "user").at(-1);
    const again = this.#last ?? (asked?.role === "user" ? asked.content : undefined);
    if (again === undefined) throw misuse("there is no message to send again", "call `send` first");
    const isMessage = typeof again === "object" && again !== null && "role" in again;
    return this.#begin((isMessage ? again.content : again) as Prompt, options);
  };

  #refuseWhileBusy(): void {
    if (this.#turn) throw new StepwellError("busy", "a turn of this chat is under way", "wait for it, call `cancel`, or send the message by `steer`");
  }

  #begin(prompt: Prompt, given: Partial<ChatSendOptions<Deps>>): Promise<TurnResult<T> | undefined> {
    const turnId = given.turnId ?? crypto.randomUUID();
    const options = { ...this.#options, ...given, turnId, approver: null, answerer: null } as SendOptions<Deps>;
    const turn = this.#conversation.stream(prompt, options as never) as Turn<T>;
    this.#reducer.begin(turnId, prompt === null ? undefined : messageOf(turnId, prompt), this.#now());
    return this.#follow(turn);
  }

  /**
   * Shows a turn of this conversation that was not begun here: one that `recover` of the agent or `revive` of the
   * conversation returned. `load` the session first.
   */
  follow = (turn: Turn<T>): Promise<TurnResult<T> | undefined> => {
    this.#refuseWhileBusy();
    this.#reducer.resume();
    return this.#follow(turn);
  };

  async #follow(turn: Turn<T>): Promise<TurnResult<T> | undefined> {
    this.#turn = turn;
    this.#changed();
    try {
      for await (const update of turn) {
        this.#reducer.apply([update], this.#now());
        // The turn may be further than its updates.
        if (update.type === "hopStarted" && turn.isUnderWay) this.#reducer.setUsage(turn.usage);
        this.#changed();
      }
      const result = await turn.result;
      this.#reducer.setUsage(result.usage);
      this.#reducer.end();
      return result;
    } catch (error) {
      const result = error instanceof StepwellError ? error.result : undefined;
      if (result) this.#reducer.setUsage(result.usage);
      this.#reducer.end(problemOf(error));
      return undefined;
    } finally {
      this.#turn = undefined;
      this.#resumed.clear();
      this.#changed();
    }
  }

  /** Stops the turn under way, if there is one. What has arrived stays. */
  cancel = (): void => this.#turn?.cancel();

  /** Sends a message during the turn, without stopping it. It is shown once the turn takes it. */
  steer = (prompt: Exclude<Prompt, null>): void => {
    if (!this.#turn) throw misuse("no turn is under way", "call `send`");
    const id = this.#turn.steer(prompt);
    this.#reducer.steer({ ...messageOf(id, prompt), id });
  };

  /**
   * Lets a call run, by the id of what is pending, with other arguments than the model's if they are given. A turn that
   * was loaded from the store, and that no page drives, continues here. Throws if nothing waits under the id, or the
   * arguments do not fit the tool. The same holds for the following methods.
   */
  approve = (id: string, changed?: { [name: string]: Json }): Promise<void> => this.#reply(id, { verb: "approve", value: changed });

  /** Refuses what is pending under the id: a call may not run, a question has no answer. The model, or the tool, gets the reason. */
  deny = async (id: string, reason?: string): Promise<void> => {
    if (this.#interrupt(id)) this.#resume({ interruptId: id, status: "cancelled" });
    else await this.#reply(id, { verb: "deny", value: reason });
  };

  /**
   * Answers a question of a tool, by the id of what is pending, or one of the state's `interrupts`, by its id: the agent
   * gets the answers to all of them at once. The value fits the schema.
   */
  answer = async (id: string, value: Json): Promise<void> => {
    if (this.#interrupt(id)) this.#resume({ interruptId: id, status: "resolved", payload: value });
    else await this.#reply(id, { verb: "answer", value });
  };

  /** Supplies the result of a deferred call, by the provider's id for it. */
  resolveCall = (toolCallId: string, result: unknown): Promise<void> => this.#reply(toolCallId, { verb: "resolve", value: shown(result) });

  async #reply(id: string, reply: Reply): Promise<void> {
    if (this.#turn) return this.#turn.reply(id, reply);
    if (!this.#state.pending.some((pending) => pending.id === id)) throw nothingWaits();
    const options = { ...this.#options, approver: null, answerer: null };
    const turn = await this.#conversation.reply(id, reply, options);
    if (!turn || this.#turn) return;
    this.#reducer.resume();
    void this.#follow(turn);
  }

  #interrupt(id: string): boolean {
    return this.#state.interrupts.some((interrupt) => interrupt.id === id);
  }

  #resume(entry: ResumeEntry): void {
    this.#resumed.set(entry.interruptId, entry);
    const asked = this.#turn?.interrupts ?? [];
    if (!asked.every(({ id }) => this.#resumed.has(id))) return;
    const answers = asked.map(({ id }) => this.#resumed.get(id)!);
    this.#resumed.clear();
    this.#turn?.resume(answers);
  }

  #now(): number {
    return this.#conversation.now();
  }

  /** Reports a change, with those that follow at once. */
  #changed(): void {
    if (this.#isStale) return;
    this.#isStale = true;
    queueMicrotask(() => {
      this.#isStale = false;
      const { state } = this.#reducer;
      if (state === this.#state) return;
      this.#state = state;
      for (const listener of [...this.#listeners]) listener();
    });
  }
}

/** The problem of an error that ended a turn. */
function problemOf(error: unknown): ChatProblem {
  if (!(error instanceof StepwellError)) {
    return { kind: "toolFailed", message: words(error), advice: "fix the app's own code", retryable: false };
  }
  const { kind, message, advice, retryable, status } = error;
  return { kind, message, advice, retryable, ...(status !== undefined && { status }) };
}
