// What the pages of assistant-ui's runtimes for the AI SDK share.
import { useAISDKChat } from "@assistant-ui/react-ai-sdk";
import { useEffect } from "react";
import { post, stopsAtServer, thread } from "./page.jsx";

/** The messages that the page has stored. The server streams an answer again, but not the messages before the answer. */
export const messages = JSON.parse(sessionStorage.getItem(thread) ?? "[]");

/** Requests the stop from the server. The SDK's own `stop` only closes the connection. */
export const onFinish = ({ isAbort }) => {
  if (isAbort && stopsAtServer) void post(`/api/chat/${thread}/stop`);
};

/** Stores the messages as they arrive, incomplete ones too, and resumes on request. */
export function StoredChat() {
  const chat = useAISDKChat();
  useEffect(() => {
    if (chat?.messages.length) sessionStorage.setItem(thread, JSON.stringify(chat.messages));
  }, [chat?.messages]);
  return <button onClick={() => chat.resumeStream()}>Reconnect</button>;
}
