// assistant-ui with its own transport, which resumes a stream by the id that the server sends in a response header.
import { AssistantChatTransport, createResumableSessionStorage, useChatRuntime } from "@assistant-ui/react-ai-sdk";
import { StoredChat, messages, onFinish } from "./chat.jsx";
import { server, show, thread } from "./page.jsx";
import { Thread } from "./thread.jsx";

const storage = createResumableSessionStorage({ key: `stream-${thread}` });

const transport = new AssistantChatTransport({
  api: `${server}/api/chat`,
  resumable: { storage, resumeApi: (id) => `${server}/api/chat/${id}/stream` },
  prepareSendMessagesRequest: ({ body, messages, trigger, messageId }) => ({
    body: { ...body, id: thread, messages, trigger, messageId },
  }),
});

const App = () => (
  <Thread runtime={useChatRuntime({ transport, messages, onFinish })}>
    <StoredChat />
  </Thread>
);

show(<App />);
