/** Chats in React: the hook `useStepwellChat`. */

import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { Agent } from "./agent.js";
import { type ChatSendOptions, ChatSession } from "./chat-session.js";
import type { ChatState } from "./chat-state.js";
import { Conversation } from "./conversation.js";

export { type ChatSendOptions, ChatSession } from "./chat-session.js";
export type { ChatConnection, ChatMessage, ChatPart, ChatProblem, ChatState, ChatStatus, ToolCard } from "./chat-state.js";
export type { Interrupt, Pending, PendingKind } from "./types.js";

/** The options of the hook. */
export interface UseStepwellChat<Deps = unknown> {
  /** The conversation's id, where the source is an agent; a random one if left out. Another id is another chat. */
  id?: string;
  /** The options of every message, as of the first render: `deps`, `settings` and the like. */
  options?: Partial<ChatSendOptions<Deps>>;
  /**
   * What happens to the turn under way when the component is unmounted: by default it continues, and a component that
   * shows the same `ChatSession` or conversation later has its result. With `true` it is cancelled.
   */
  cancelOnUnmount?: boolean;
}

/** The state of a chat, and what the user can do. The functions are the same in every render. */
export interface StepwellChat<T = string, Deps = unknown>
  extends ChatState,
    Pick<ChatSession<T, Deps>, "send" | "retry" | "cancel" | "steer" | "approve" | "deny" | "answer" | "resolveCall" | "load"> {
  /** The session, for other components and code. */
  readonly session: ChatSession<T, Deps>;
}

/**
 * Shows a chat: of an agent (a conversation of its own for each component), of a conversation, or of a `ChatSession` that
 * the app keeps. The component is rendered again when the state changes; a message that has not changed is the same object
 * as before, for `memo`. A conversation with a store is loaded when the component is mounted.
 */
export function useStepwellChat<T = string, Deps = unknown>(
  source: Agent<T, Deps> | Conversation<T, Deps> | ChatSession<T, Deps>,
  { id, options, cancelOnUnmount = false }: UseStepwellChat<Deps> = {},
): StepwellChat<T, Deps> {
  const session = useMemo(() => {
    if (source instanceof ChatSession) return source;
    return new ChatSession(source instanceof Agent ? source.conversation(id) : source, options);
  }, [source, id]);
  const state = useSyncExternalStore(session.subscribe, session.getSnapshot, session.getSnapshot);
  const mounted = useRef(0);
  useEffect(() => {
    mounted.current += 1;
    // The store's error is that of the next turn, too, which shows it.
    session.load().catch(() => {});
    return () => {
      mounted.current -= 1;
      // React mounts a component again at once in its strict mode.
      if (cancelOnUnmount) queueMicrotask(() => mounted.current === 0 && session.cancel());
    };
  }, [session, cancelOnUnmount]);
  const { send, retry, cancel, steer, approve, deny, answer, resolveCall, load } = session;
  return { ...state, session, send, retry, cancel, steer, approve, deny, answer, resolveCall, load };
}
