// assistant-ui on a chat of `useChat`, with the AI SDK's own transport.
import { useChat } from "@ai-sdk/react";
import { useAISDKRuntime } from "@assistant-ui/react-ai-sdk";
import { DefaultChatTransport } from "ai";
import { StoredChat, messages, onFinish } from "./chat.jsx";
import { server, show, thread } from "./page.jsx";
import { Thread } from "./thread.jsx";

const transport = new DefaultChatTransport({ api: `${server}/api/chat` });

function App() {
  const chat = useChat({ id: thread, transport, messages, onFinish, resume: true });
  return (
    <Thread runtime={useAISDKRuntime(chat)}>
      <StoredChat />
    </Thread>
  );
}

show(<App />);
