// CopilotKit's chat, with `stepwell serve` as its runtime.
import { CopilotChat, CopilotKitProvider, useAgent, useCopilotKit } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { server, show, thread } from "./page.jsx";

/** Resumes on request: `CopilotChat` connects to a thread when it is mounted, and does not reconnect after a cut. */
function Reconnect() {
  const { copilotkit } = useCopilotKit();
  const { agent } = useAgent();
  return <button onClick={() => copilotkit.connectAgent({ agent })}>Reconnect</button>;
}

show(
  <CopilotKitProvider runtimeUrl={`${server}/api/copilotkit`} enableInspector={false}>
    <CopilotChat threadId={thread} />
    <Reconnect />
  </CopilotKitProvider>,
);
