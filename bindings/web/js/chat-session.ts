// A chat: a conversation with what a screen shows of it.

import { ChatReducer } from "./chat-reducer.js";
import type { ChatProblem, ChatState } from "./chat-state.js";
import type { Conversation } from "./conversation.js";
import { misuse, StepwellError, words } from "./error.js";
import { messageOf, type Prompt } from "./media.js";
import type { SendOptions } from "./options.js";
import type { TurnResult } from "./result.js";
import type { Decision } from "./tools.js";
import type { Turn } from "./turn.js";
import type { Json, Question, ResumeEntry, ToolInvocation } from "./types.js";

/** The options of a message. Approvals and questions are the session's own. */
export type ChatSendOptions<Deps = unknown> = Omit<SendOptions<Deps>, "approver" | "answerer" | "whenBusy">;

/** What waits for the user: how it is answered. */
interface Waiting {
  toolCallId: string;
  answer(given: unknown): void;
}

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
  #waiting = new Map<string, Waiting>();
  /** The answers to the agent's interrupts, until there are all of them. */
  #resumed = new Map<string, ResumeEntry>();
  #questions = new Map<string, number>();
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

  /** Calls the listener after each change; several events that arrive together are one change. Returns a function that stops that. */
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
    const options = { ...this.#options, ...given, turnId, approver: this.#approver, answerer: this.#answerer } as SendOptions<Deps>;
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
      for await (const event of turn) {
        this.#reducer.apply([event], this.#now());
        // The turn may be further than its events.
        if (event.type === "hopStarted" && turn.isUnderWay) this.#reducer.setUsage(turn.usage);
        this.#changed();
      }
      const result = await turn.result;
      this.#reducer.setUsage(result.usage);
      return result;
    } catch (error) {
      const result = error instanceof StepwellError ? error.result : undefined;
      if (result) this.#reducer.setUsage(result.usage);
      this.#reducer.end(problemOf(error));
      return undefined;
    } finally {
      this.#turn = undefined;
      this.#waiting.clear();
      this.#resumed.clear();
      this.#questions.clear();
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

  /** Lets a call run, by the id of what is pending, or by that of its call; with other arguments than the model's if they are given. */
  approve = (id: string, changed?: { [name: string]: Json }): void => this.#answer(id, changed ?? true);

  /** Refuses what is pending under the id: a call may not run, with a reason for the model; a question has no answer. */
  deny = (id: string, reason?: string): void => {
    if (this.#interrupt(id)) this.#resume({ interruptId: id, status: "cancelled" });
    else this.#answer(id, id.startsWith("ask:") ? undefined : (reason ?? false));
  };

  /** Answers a question of a tool or of an AG-UI agent, by the id of what is pending. The value fits its schema. */
  answer = (id: string, value: Json): void => {
    if (this.#interrupt(id)) this.#resume({ interruptId: id, status: "resolved", payload: value });
    else this.#answer(id, value);
  };

  #answer(id: string, given: unknown): void {
    const byCall = () => [...this.#waiting].find(([, { toolCallId }]) => toolCallId === id)?.[0];
    const key = this.#waiting.has(id) ? id : byCall();
    const waiting = key === undefined ? undefined : this.#waiting.get(key);
    if (key === undefined || !waiting) throw misuse("nothing waits under this id", "take the id of one of the state's `pending`");
    this.#settle(key);
    waiting.answer(given);
  }

  #interrupt(id: string): boolean {
    return this.#state.pending.some((pending) => pending.id === id && pending.kind.type === "interrupt");
  }

  /** An agent takes the answers to all its interrupts at once. */
  #resume(entry: ResumeEntry): void {
    this.#resumed.set(entry.interruptId, entry);
    const asked = this.#turn?.interrupts ?? [];
    this.#reducer.settle(entry.interruptId);
    this.#changed();
    if (!asked.every(({ id }) => this.#resumed.has(id))) return;
    const answers = asked.map(({ id }) => this.#resumed.get(id)!);
    this.#resumed.clear();
    this.#turn?.resume(answers);
  }

  #approver = ({ call, toolCallId }: ToolInvocation, { signal }: { signal: AbortSignal }): Promise<Decision> =>
    this.#wait(`approve:${call.hop}:${call.index}`, toolCallId, signal);

  #answerer = (question: Question, { signal, invocation: { call, toolCallId } }: { signal: AbortSignal; invocation: ToolInvocation }): Promise<Json | undefined> => {
    const place = `${call.hop}:${call.index}`;
    const number = this.#questions.get(place) ?? 0;
    this.#questions.set(place, number + 1);
    this.#reducer.ask(call, toolCallId, number, question);
    this.#changed();
    return this.#wait(`ask:${place}:${number}`, toolCallId, signal);
  };

  #wait<U>(id: string, toolCallId: string, signal: AbortSignal): Promise<U> {
    return new Promise((answer, reject) => {
      this.#waiting.set(id, { toolCallId, answer: answer as (given: unknown) => void });
      signal.addEventListener("abort", () => {
        if (this.#waiting.has(id)) this.#settle(id);
        reject(signal.reason);
      });
    });
  }

  #settle(id: string): void {
    this.#waiting.delete(id);
    this.#reducer.settle(id);
    this.#changed();
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
