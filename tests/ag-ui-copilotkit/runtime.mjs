// CopilotKit's runtime in front of `stepwell serve`, and the client that its pages use in front of it: `node runtime.mjs
// URL`.
import { HttpAgent } from "@ag-ui/client";
import { CopilotRuntime, InMemoryAgentRunner, createCopilotRuntimeHandler } from "@copilotkit/runtime/v2";
import { play } from "../ag-ui-client/runs.mjs";

const agents = { stepwell: new HttpAgent({ url: process.argv[2] }) };
const runtime = new CopilotRuntime({ agents, runner: new InMemoryAgentRunner() });
const handle = createCopilotRuntimeHandler({ runtime, basePath: "/" });
const agentOf = (threadId) =>
  new HttpAgent({
    url: "http://localhost/agent/stepwell/run",
    threadId,
    fetch: (url, init) => handle(new Request(url, init)),
  });
await play("@copilotkit/runtime 1.75.0", agentOf);
// The runtime keeps timers.
process.exit();
