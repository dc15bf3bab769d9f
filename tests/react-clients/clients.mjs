// The clients: the selectors of their pages, and what they do without the app's help.

const assistantUi = {
  message: (role) => `[data-message=${role}]`,
  // The composer measures its text in a hidden textarea.
  input: "textarea:not([aria-hidden])",
  send: "text=Send",
  stop: "text=Stop",
};

export const CLIENTS = {
  copilotkit: {
    message: (role) => `[data-testid=copilot-${role}-message]`,
    input: "[data-testid=copilot-chat-textarea]",
    send: "[data-testid=copilot-send-button]",
    stop: "[data-testid=copilot-send-button]",
    running: "[data-copilot-running=true]",
    /** Whether a stop is a request to the server. The other clients close the connection, which looks like a lost one. */
    stopsAtServer: true,
  },
  "assistant-ag-ui": assistantUi,
  // `useChat` resumes an answer that was cut when its tab is shown again: phones cut the connections of hidden tabs.
  "assistant-use-chat": { ...assistantUi, joinsHops: true, resumesWhenVisible: true },
  "assistant-transport": { ...assistantUi, joinsHops: true },
};
