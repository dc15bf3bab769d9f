// assistant-ui with its runtime for AG-UI agents. The runtime only starts runs, so the app's agent resumes them.
import { HttpAgent } from "@ag-ui/client";
import { useAgUiRuntime } from "@assistant-ui/react-ag-ui";
import { post, server, show, stopsAtServer, thread } from "./page.jsx";
import { Thread } from "./thread.jsx";

class Agent extends HttpAgent {
  /** Whether the next run resumes the run of the thread, instead of starting a new one. */
  resumes = false;

  run(input) {
    this.url = server + (this.resumes ? "/api/copilotkit/agent/default/connect" : "/agent");
    this.resumes = false;
    return super.run(input);
  }
}

const agent = new Agent({ url: `${server}/agent`, threadId: thread });

// The server sends the conversation with the events, so the page stores none. A new thread has nothing to resume.
const history = {
  load: async () => {
    agent.resumes = (await fetch(`${server}/threads/${thread}`)).ok;
    return { messages: [], unstable_resume: agent.resumes };
  },
  append: async () => {},
};

function App() {
  const runtime = useAgUiRuntime({
    agent,
    adapters: { history },
    ...(stopsAtServer && { onCancel: () => void post("/agent/stop", { threadId: thread }) }),
  });
  // The runtime adds nothing to a message that it already shows, so the page drops its messages first.
  const reconnect = () => {
    agent.resumes = true;
    runtime.thread.reset();
    runtime.thread.resumeRun({ parentId: null });
  };
  return (
    <Thread runtime={runtime}>
      <button onClick={reconnect}>Reconnect</button>
    </Thread>
  );
}

show(<App />);
