// The reducer of a chat screen, over the module's.

import { type ChatMessage, type ChatProblem, type ChatState, EMPTY_CHAT } from "./chat-state.js";
import { answered, made, written } from "./module.js";
import { Chat } from "./stepwell.js";
import type { Message, RunEvent, TokenUsage, ToolDefinition, TurnRecord } from "./types.js";

/** How a chat begins: with stored turns, with a conversation without them, or empty. */
export interface ChatStart {
  /** The stored turns of a thread, or of a path of it. */
  turns?: TurnRecord[];
  /** The end of the path; without it, the turn that ends last. */
  turn?: string;
  /** A conversation without stored turns: AG-UI messages, oldest first. */
  messages?: Message[];
  /** The definitions of the agent's tools, for the schemas of approvals. */
  tools?: ToolDefinition[];
}

type Update = Omit<ChatState, "messages"> & { messages: ChatMessage[]; order?: string[] };

/**
 * Builds a `ChatState` from stored turns, the actions of the app, and the events of the turn under way, for apps that
 * drive turns themselves; `ChatSession` does that for a conversation. The app passes on, in order, every event.
 */
export class ChatReducer {
  readonly #chat: Chat;
  #state: ChatState = EMPTY_CHAT;
  #places = new Map<string, number>();

  constructor(start: ChatStart = {}) {
    this.#chat = made(() => new Chat(written("the chat", start)));
  }

  #call<T>(chat: string, fields: object = {}, nowMs = 0): T {
    return answered<{ answer: T }>(this.#chat.call(written("the call", { chat, ...fields }), nowMs)).answer;
  }

  /** Begins a turn with the user's message. */
  begin(turn: string, message: Message | undefined, nowMs: number): void {
    this.#call("begin", { turn, message }, nowMs);
  }

  /** Continues the last stored turn, which did not end: its events follow. */
  resume(): void {
    this.#call("resume");
  }

  /** Notes a message that the user sends during the turn. It is shown once the turn takes it. */
  steer(message: Message): void {
    this.#call("steer", { message });
  }

  /** Applies events of the turn under way, in order. */
  apply(events: readonly RunEvent[], nowMs: number): void {
    this.#call("apply", { events }, nowMs);
  }

  /** Notes the usage of the turn so far. */
  setUsage(usage: TokenUsage): void {
    this.#call("setUsage", { usage });
  }

  /** Ends the turn of an `Agent`, whose end is no update; the event `completed` of a `RunMachine` does so, too. */
  end(problem?: ChatProblem): void {
    this.#call("end", { problem });
  }

  /** The state now: the same object as before if nothing has changed. */
  get state(): ChatState {
    const update = this.#call<Update | null>("update");
    if (!update) return this.#state;
    const { order, messages: changed, ...rest } = update;
    let messages = [...this.#state.messages];
    for (const message of changed) {
      const place = this.#places.get(message.id) ?? messages.length;
      this.#places.set(message.id, place);
      messages[place] = message;
    }
    if (order) {
      messages = order.map((id) => messages[this.#places.get(id)!]!);
      this.#places = new Map(order.map((id, place) => [id, place]));
    }
    this.#state = { ...rest, messages };
    return this.#state;
  }

  /** The digest of the state without its revisions, which scenario files hold. */
  digest(): string {
    return this.#call("digest");
  }

  /** Frees the reducer's memory at once; otherwise it is freed when the reducer is collected. */
  free(): void {
    this.#chat.free();
  }
}
