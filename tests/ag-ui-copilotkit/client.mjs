// CopilotKit's client in front of `stepwell serve`, without a runtime of Node between: `node client.mjs PROGRAM`. A page is
// reloaded in the middle of a run, a run is stopped, and all that every client plays is played.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { CopilotKitCore, ProxiedCopilotRuntimeAgent } from "@copilotkit/core";
import { play } from "../ag-ui-client/runs.mjs";

const name = "@copilotkit/core 1.75.0";

// A core outside of a browser looks for no runtime.
globalThis.window = { location: new URL("http://localhost/") };

/** Starts the program with these arguments, and gives the address of its routes. */
async function serve(...args) {
  const program = spawn(process.argv[2], ["serve", "--listen", "127.0.0.1:0", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  process.on("exit", () => program.kill());
  for await (const line of createInterface(program.stdout)) {
    const address = line.match(/http:\/\/[^/\s]+/);
    if (address) return `${address[0]}/api/copilotkit`;
  }
  throw new Error("the program has not started");
}

/** A model that says a word, and the rest when it is told to. */
async function model() {
  const streams = [];
  const server = createServer((_, response) => {
    const say = (delta, reason = null) => {
      const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
      response.write(`data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`);
    };
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    say({ role: "assistant", content: "One " });
    const closed = once(response, "close");
    const ends = () => {
      say({ content: "and two." });
      say({}, "stop");
      response.end("data: [DONE]\n\n");
    };
    streams.push({ ends, closed });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { streams, url: `http://127.0.0.1:${server.address().port}/v1`, close: () => server.close() };
}

/** Waits until it holds, as the agent changes. */
function until(agent, holds) {
  return new Promise((resolve) => {
    const look = () => {
      if (!holds(agent)) return;
      subscription.unsubscribe();
      resolve();
    };
    const subscription = agent.subscribe({ onMessagesChanged: look, onRunFinalized: look });
    look();
  });
}

const texts = (agent) => agent.messages.map(({ content }) => content);

/** A page on a thread: what React's hooks do with the core. */
async function page(runtimeUrl, threadId) {
  const core = new CopilotKitCore({ runtimeUrl });
  core.connect();
  await new Promise((resolve, reject) => {
    const look = () => {
      if (core.runtimeConnectionStatus === "error") reject(new Error("the runtime is not found"));
      if (core.runtimeConnectionStatus === "connected") resolve();
    };
    core.subscribe({ onRuntimeConnectionStatusChanged: look });
    look();
  });
  const agent = core.getAgent("default");
  assert.ok(agent, "there is an agent `default`");
  agent.threadId = threadId;
  return { core, agent };
}

async function reloadAndStop() {
  const { streams, url, close } = await model();
  const runtimeUrl = await serve("--provider", "openai-compatible", "--base-url", url, "--model", "m");

  const first = await page(runtimeUrl, "reloaded");
  first.agent.addMessage({ id: "question", role: "user", content: "Count." });
  const running = first.core.runAgent({ agent: first.agent });
  await until(first.agent, (agent) => texts(agent).at(-1) === "One ");
  await first.agent.detachActiveRun();
  await running.catch(() => {});

  // The page that comes in its place has nothing.
  const second = await page(runtimeUrl, "reloaded");
  const connected = second.core.connectAgent({ agent: second.agent });
  await until(second.agent, (agent) => texts(agent).at(-1) === "One ");
  streams[0].ends();
  await connected;
  assert.deepEqual(texts(second.agent), ["Count.", "One and two."]);

  // One that comes when all is over has it too, and goes on.
  const third = await page(runtimeUrl, "reloaded");
  await third.core.connectAgent({ agent: third.agent });
  assert.deepEqual(texts(third.agent), ["Count.", "One and two."]);
  third.agent.addMessage({ id: "again", role: "user", content: "Again." });
  const again = third.core.runAgent({ agent: third.agent });
  await until(third.agent, (agent) => texts(agent).at(-1) === "One ");
  assert.equal(streams.length, 2);
  third.agent.abortRun();
  await streams[1].closed;
  await again;

  const new_ = await page(runtimeUrl, "new");
  await new_.core.connectAgent({ agent: new_.agent });
  assert.deepEqual(texts(new_.agent), []);
  close();
  console.log(`${name.padEnd(28)} a page reloaded, a run stopped`);
}

const runtimeUrl = await serve();
await play(name, (threadId) => new ProxiedCopilotRuntimeAgent({ runtimeUrl, agentId: "default", threadId }));
await reloadAndStop();
process.exit();
