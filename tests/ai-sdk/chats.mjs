// The AI SDK's chats against a server of Stepwell's and its scripted model: `node chats.mjs URL serve|axum|asgi VERSION`, where
// /api/chat is beside URL. Each scenario is played by the SDK's own transport, reader and `useChat`'s chat. The server is
// to be a new one: its secret numbers are changed.
import assert from "node:assert/strict";

const VERSIONS = {
  6: { ai: await import("ai"), react: await import("@ai-sdk/react") },
  7: { ai: await import("ai-7"), react: await import("ai-sdk-react-7") },
};

const TOOLS = [
  { name: "get_location", description: "Where the user is.", parameters: { type: "object", properties: {} } },
  {
    name: "set_theme",
    description: "Sets the app's theme.",
    parameters: { type: "object", properties: { theme: { type: "string" } }, required: ["theme"] },
  },
];

const [url, of, version] = process.argv.slice(2);
const api = `${url.replace(/\/agent$/, "")}/api/chat`;

class Player {
  constructor(name) {
    Object.assign(this, VERSIONS[version]);
    this.id = `chat-${version}-${name}`;
    // What the server sends is held to the SDK's own schema of a part.
    this.transport = new this.ai.DefaultChatTransport({ api, body: { tools: TOOLS } });
  }

  chat(options = {}) {
    const settled = [];
    const chat = new this.react.Chat({
      id: this.id,
      transport: this.transport,
      onFinish: (end) => void settled.push(end),
      ...options,
    });
    chat.settled = settled;
    return chat;
  }

  /** A chat that goes on by itself once its tools and its user have answered. */
  automatic(options = {}) {
    const { lastAssistantMessageIsCompleteWithToolCalls: tools, lastAssistantMessageIsCompleteWithApprovalResponses: answers } = this.ai;
    return this.chat({ sendAutomaticallyWhen: (state) => tools(state) || answers(state), ...options });
  }

  /** The stream of what the user says, as the transport gives it. */
  stream(text, abortSignal) {
    const messages = [{ id: "u", role: "user", parts: [{ type: "text", text }] }];
    return this.transport.sendMessages({ chatId: this.id, trigger: "submit-message", messages, abortSignal });
  }

  /** The last form of the message that a stream makes. */
  async read(stream) {
    let last;
    for await (const message of this.ai.readUIMessageStream({ stream, terminateOnError: true })) last = message;
    return last;
  }
}

const text = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text).join("");
const tool = (message, name) => message.parts.find((part) => part.type === `tool-${name}`);
const types = (message) => message.parts.map((part) => part.type);

/** Waits until the chat rests in this way. */
async function rests(chat, is) {
  while (!(chat.status === "ready" && is(chat.lastMessage))) {
    if (chat.status === "error") throw chat.error;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const scenarios = {
  async text(player) {
    const message = await player.read(await player.stream("hello"));
    assert.match(text(message), /^Hello! I am a scripted model\./);
    assert.deepEqual(types(message), ["step-start", "text"]);
    assert.equal(message.parts[1].state, "done");
  },

  async headers(player) {
    const body = { id: player.id, messages: [{ id: "u", role: "user", parts: [{ type: "text", text: "hello" }] }] };
    const headers = { "content-type": "application/json" };
    const response = await fetch(api, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(response.headers.get("x-vercel-ai-ui-message-stream"), "v1");
    assert.match(response.headers.get("content-type"), /^text\/event-stream/);
    const frames = (await response.text()).split("\n\n").filter((frame) => frame && !frame.startsWith(":"));
    assert.equal(frames.at(-1), "data: [DONE]");
    const parts = frames.slice(0, -1).map((frame) => JSON.parse(frame.slice("data: ".length)));
    const { type, finishReason, messageMetadata } = parts.at(-1);
    assert.deepEqual([parts[0].type, type, finishReason], ["start", "finish", "stop"]);
    assert.ok(messageMetadata.usage.inputTokens > 0);
  },

  async reasoning(player) {
    const message = await player.read(await player.stream("think"));
    assert.deepEqual(types(message), ["step-start", "reasoning", "text"]);
    assert.equal(message.parts[1].text, "The user wants to see me think. I think, and then I say so.");
  },

  async "server-tools"(player) {
    const chat = player.chat();
    await chat.sendMessage({ text: "What are the secret numbers?" });
    const { parts } = chat.lastMessage;
    const calls = parts.filter((part) => part.type === "tool-get_secret_number");
    assert.deepEqual(calls.map(({ state, input, output }) => [state, input, output]), [
      ["output-available", { name: "alice" }, "42"],
      ["output-available", { name: "bob" }, "7"],
    ]);
    assert.equal(types(chat.lastMessage).filter((type) => type === "step-start").length, 2);
    assert.match(text(chat.lastMessage), /Alice's number is 42, Bob's is 7$/);
    assert.equal(chat.settled[0].finishReason, "stop");
    await chat.sendMessage({ text: "hello" });
    assert.equal(chat.messages.length, 4, "the history goes along, with its calls");
    assert.match(text(chat.lastMessage), /^Hello!/);
  },

  async "tool-that-fails"(player) {
    const chat = player.chat();
    await chat.sendMessage({ text: "missing" });
    const call = tool(chat.lastMessage, "get_secret_number");
    assert.equal(call.state, "output-error");
    assert.match(call.errorText, /carol/i);
    await chat.sendMessage({ text: "hello" });
    assert.match(text(chat.lastMessage), /^Hello!/);
  },

  async "client-tools"(player) {
    const given = [];
    const chat = player.automatic({
      onToolCall: ({ toolCall }) => {
        given.push(toolCall.toolName);
        void chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: { done: true } });
      },
    });
    await chat.sendMessage({ text: "Ask the app" });
    await rests(chat, (message) => /has answered/.test(text(message)));
    assert.deepEqual(given, ["get_location", "set_theme"]);
    assert.equal(chat.messages.length, 2, "the same message goes on");
    assert.equal(chat.settled[0].finishReason, "tool-calls");
    assert.deepEqual(tool(chat.lastMessage, "set_theme").input, { theme: "dark" });
  },

  async "client-tool-that-fails"(player) {
    const chat = player.automatic({
      onToolCall: ({ toolCall: { toolName, toolCallId } }) =>
        void chat.addToolOutput({ state: "output-error", tool: toolName, toolCallId, errorText: "no such thing here" }),
    });
    await chat.sendMessage({ text: "Ask the app" });
    await rests(chat, (message) => /has answered/.test(text(message)));
  },

  async "approval-granted"(player) {
    const chat = player.automatic();
    await chat.sendMessage({ text: "change" });
    const asked = tool(chat.lastMessage, "set_secret_number");
    assert.equal(asked.state, "approval-requested");
    await chat.addToolApprovalResponse({ id: asked.approval.id, approved: true });
    await rests(chat, (message) => /That is settled/.test(text(message)));
    const call = tool(chat.lastMessage, "set_secret_number");
    assert.deepEqual([call.state, call.output], ["output-available", "alice's secret number is 43 now"]);
    assert.equal(chat.messages.length, 2, "the same message goes on");
    await chat.sendMessage({ text: "hello" });
    assert.match(text(chat.lastMessage), /^Hello!/);
  },

  async "approval-denied"(player) {
    const chat = player.automatic();
    await chat.sendMessage({ text: "change" });
    const asked = tool(chat.lastMessage, "set_secret_number");
    await chat.addToolApprovalResponse({ id: asked.approval.id, approved: false, reason: "not today" });
    await rests(chat, (message) => /That is settled/.test(text(message)));
    const call = tool(chat.lastMessage, "set_secret_number");
    assert.deepEqual([call.state, call.approval.reason], ["output-denied", "not today"]);
    await chat.sendMessage({ text: "hello" });
    assert.match(text(chat.lastMessage), /^Hello!/);
  },

  async "approval-beside-tools-of-both-sides"(player) {
    const chat = player.automatic({
      onToolCall: ({ toolCall: { toolName, toolCallId } }) => {
        if (toolName === "get_location") void chat.addToolOutput({ tool: toolName, toolCallId, output: "Oslo" });
      },
    });
    await chat.sendMessage({ text: "everything" });
    await rests(chat, (message) => tool(message, "set_secret_number")?.state === "approval-requested");
    assert.equal(tool(chat.lastMessage, "get_secret_number").output, "7");
    const { approval } = tool(chat.lastMessage, "set_secret_number");
    await chat.addToolApprovalResponse({ id: approval.id, approved: true });
    await rests(chat, (message) => /All is done/.test(text(message)));
    assert.equal(tool(chat.lastMessage, "get_location").output, "Oslo");
    assert.equal(tool(chat.lastMessage, "set_secret_number").state, "output-available");
  },

  async "question-that-nobody-answers"(player) {
    const chat = player.chat();
    await chat.sendMessage({ text: "change" });
    await chat.sendMessage({ text: "hello" });
    assert.equal(chat.error, undefined);
    assert.match(text(chat.lastMessage), /^Hello!/, "who says something new has gone on");
  },

  async "question-of-a-running-tool"(player) {
    const chat = player.chat();
    const asked = () => chat.lastMessage.parts.filter((part) => part.type === "data-interrupt").at(-1).data;
    const answers = (payload) => chat.sendMessage(undefined, { body: { resume: [{ interruptId: asked().id, status: "resolved", payload }] } });
    await chat.sendMessage({ text: "order" });
    assert.equal(asked().responseSchema.type, "object");
    await answers({ tea: "mint", cups: 1 });
    assert.equal(asked().message, "Order a cup of mint tea?");
    await answers(true);
    assert.equal(chat.error, undefined);
    assert.equal(tool(chat.lastMessage, "order_tea").output, "Ordered: a cup of mint tea.");
  },

  async "answer-to-nothing"(player) {
    const call = { type: "tool-set_secret_number", toolCallId: "c", state: "approval-responded", input: {}, approval: { id: "made-up", approved: true } };
    const messages = [
      { id: "u", role: "user", parts: [{ type: "text", text: "change" }] },
      { id: "a", role: "assistant", parts: [{ type: "step-start" }, call] },
    ];
    const chat = player.chat({ messages });
    await chat.sendMessage();
    assert.match(chat.error.message, /no interrupt `made-up` is open/);
  },

  async error(player) {
    const chat = player.chat();
    await chat.sendMessage({ text: "fail" });
    assert.equal(chat.status, "error");
    assert.equal(chat.error.message, "the model's provider is out of service: try again in a while");
    await chat.sendMessage({ text: "refuse" });
    assert.equal(chat.error.message, "the model's provider does not accept the server's key");
    await chat.sendMessage({ text: "hello" });
    assert.deepEqual([chat.status, chat.error], ["ready", undefined]);
  },

  async "request-refused"(player) {
    const refused = async (options, reason) => {
      const chat = player.chat(options);
      await chat.sendMessage({ text: "hello" });
      assert.match(chat.error.message, reason);
    };
    const body = { tools: [{ ...TOOLS[0], name: "get_secret_number" }] };
    await refused({ transport: new player.ai.DefaultChatTransport({ api, body }) }, /\/tools\/0\/name/);
    await refused({ messages: [{ id: "u", role: "person", parts: [] }] }, /unknown variant `person`/);
    await refused({ id: "" }, /\/id has 1 to 512 bytes/);
  },

  async regenerate(player) {
    const chat = player.chat();
    await chat.sendMessage({ text: "hello" });
    const before = chat.lastMessage.id;
    await chat.regenerate();
    assert.equal(chat.messages.length, 2);
    assert.notEqual(chat.lastMessage.id, before);
  },

  async files(player) {
    const chat = player.chat();
    const picture = { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" };
    await chat.sendMessage({ text: "hello", files: [picture] });
    assert.match(text(chat.lastMessage), /^Hello!/);
  },

  async abort(player) {
    const chat = player.chat();
    const said = chat.sendMessage({ text: "wait" });
    while (!(chat.lastMessage?.role === "assistant" && text(chat.lastMessage))) await new Promise((resolve) => setImmediate(resolve));
    await chat.stop();
    await said;
    assert.deepEqual([chat.status, chat.settled[0].isAbort], ["ready", true]);
    // What the user says next takes the thread over; the run before is stopped.
    await chat.sendMessage({ text: "hello" });
    assert.match(text(chat.lastMessage), /^Hello!/);
    await ended(player);
  },

  async "abort-of-a-run-that-nobody-comes-back-to"(player) {
    const aborted = new AbortController();
    const reader = (await player.stream("wait", aborted.signal)).getReader();
    await reader.read();
    aborted.abort();
    // To look at the chat would be to come back to it.
    const running = /^stepwell_runs_active 0$/m;
    while (!running.test(await (await fetch(url.replace(/\/agent$/, "/metrics"))).text()));
  },

  async resume(player) {
    const aborted = new AbortController();
    const reader = (await player.stream("slow", aborted.signal)).getReader();
    for (let part; part?.type !== "tool-input-available"; ) part = (await reader.read()).value;
    aborted.abort();
    const chat = player.chat({ messages: [{ id: "u", role: "user", parts: [{ type: "text", text: "slow" }] }] });
    await chat.resumeStream();
    assert.equal(chat.messages.length, 2);
    assert.match(text(chat.lastMessage), /^This takes a while\. Both are done\.$/, "from its beginning to its end");
    assert.equal(tool(chat.lastMessage, "count_down").state, "output-available");
    await ended(player);
    await chat.resumeStream();
    assert.deepEqual([chat.status, chat.messages.length], ["ready", 2], "nothing is under way any more");
  },

  async "two-readers"(player) {
    const first = await player.stream("slow");
    const second = await player.transport.reconnectToStream({ chatId: player.id });
    const [one, other] = await Promise.all([player.read(first), player.read(second)]);
    assert.deepEqual(other, one);
  },
};

/** Waits until the chat has no stream under way. */
async function ended(player) {
  while ((await player.transport.reconnectToStream({ chatId: player.id }).then(cancelled)) !== null);
}

async function cancelled(stream) {
  await stream?.cancel();
  return stream;
}

// The apps have none of the server's other tools, and no metrics.
const OF_SERVE = ["approval-granted", "approval-denied", "approval-beside-tools-of-both-sides", "question-that-nobody-answers", "question-of-a-running-tool", "tool-that-fails", "resume", "two-readers", "abort-of-a-run-that-nobody-comes-back-to"];

let [passed, all] = [0, 0];
for (const [name, scenario] of Object.entries(scenarios)) {
  if (of !== "serve" && OF_SERVE.includes(name)) continue;
  all += 1;
  let reason;
  try {
    await scenario(new Player(name));
    passed += 1;
  } catch (error) {
    reason = error;
  }
  console.log(`${`ai ${version}: ${name}`.padEnd(52)} ${reason ? "failed" : "passed"}`);
  if (reason) console.log(reason.stack ?? reason);
}
console.log(`${passed} of ${all} chats passed`);
process.exit(passed === all ? 0 : 1);
