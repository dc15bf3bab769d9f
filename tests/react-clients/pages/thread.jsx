// The thread of assistant-ui's pages, built from its primitives.
import { AssistantRuntimeProvider, AuiIf, ComposerPrimitive, MessagePrimitive, ThreadPrimitive } from "@assistant-ui/react";

const Text = ({ text }) => <>{text}</>;

const Message = ({ role }) => (
  <MessagePrimitive.Root data-message={role}>
    <MessagePrimitive.Parts components={{ Text }} />
  </MessagePrimitive.Root>
);

const messages = {
  UserMessage: () => <Message role="user" />,
  AssistantMessage: () => <Message role="assistant" />,
};

export const Thread = ({ runtime, children }) => (
  <AssistantRuntimeProvider runtime={runtime}>
    <ThreadPrimitive.Root>
      <ThreadPrimitive.Messages components={messages} />
      {/* A history that loads replaces the messages that were sent before it arrived. */}
      <AuiIf condition={({ thread }) => !thread.isLoading || thread.isRunning}>
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input />
          <AuiIf condition={({ thread }) => thread.isRunning}>
            <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
          </AuiIf>
          <AuiIf condition={({ thread }) => !thread.isRunning}>
            <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          </AuiIf>
        </ComposerPrimitive.Root>
      </AuiIf>
      {children}
    </ThreadPrimitive.Root>
  </AssistantRuntimeProvider>
);
