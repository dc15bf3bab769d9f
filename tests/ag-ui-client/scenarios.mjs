// The official AG-UI client against `stepwell serve` and its scripted model: `node scenarios.mjs URL FOLDER`.
// The server is to be started with `--max-runs 1`, so that a run that is not let go of shows. The streams go into FOLDER.
import assert from "node:assert/strict";
import { play } from "./harness.mjs";

const APP_TOOLS = [
  { name: "get_location", description: "Where the user is.", parameters: { type: "object", properties: {} } },
  {
    name: "set_theme",
    description: "Sets the app's theme.",
    parameters: { type: "object", properties: { theme: { type: "string" } }, required: ["theme"] },
  },
];

const yes = (interrupt, payload = { approved: true }) => ({ interruptId: interrupt.id, status: "resolved", payload });

const scenarios = {
  async text(talk) {
    await talk.say("hello");
    assert.deepEqual(talk.finished().outcome, { type: "success" });
    assert.match(talk.text(), /^Hello! I am a scripted model\./);
    assert.equal(talk.agent.messages.length, 2);
    await talk.say("hello");
    assert.equal(talk.agent.messages.length, 4, "a second run on the thread");
    assert.equal(talk.events[0].protocolVersion, "1.0");
  },

  async "ids-of-events"(talk) {
    await talk.say("hello", { runId: "run-with-ids" });
    const [stream] = await talk.save();
    const ids = [...stream.matchAll(/^id: (.*)$/gm)].map(([, id]) => id);
    assert.deepEqual(ids, talk.events.map((_, index) => `run-with-ids:${index}`));
  },

  async protobuf(talk) {
    talk.accept = "application/vnd.ag-ui.event+proto";
    await talk.say("Ask both", { tools: APP_TOOLS });
    assert.equal(talk.contentType, talk.accept);
    const open = talk.openCalls();
    assert.deepEqual(talk.finished().outcome.pendingToolCallIds, [open[0].id]);
    assert.equal(talk.result("get_secret_number"), "42");
    talk.answer(open[0], "Oslo");
    await talk.run({ tools: APP_TOOLS });
    assert.match(talk.text(), /Both have answered\.$/);
    await talk.say("Put it on the list");
    assert.equal(talk.agent.state.todos.length, 2);
  },

  async "parallel-tools"(talk) {
    await talk.say("What are the secret numbers?");
    assert.deepEqual(talk.finished().outcome, { type: "success" });
    const calls = talk.agent.messages.flatMap((message) => message.toolCalls ?? []);
    assert.deepEqual(calls.map((call) => JSON.parse(call.function.arguments)), [{ name: "alice" }, { name: "bob" }]);
    const results = talk.agent.messages.filter((message) => message.role === "tool");
    assert.deepEqual(results.map((message) => message.content).sort(), ["42", "7"]);
    assert.deepEqual(talk.openCalls(), []);
    assert.match(talk.text(), /Alice's number is 42, Bob's is 7$/);
  },

  async "client-tools"(talk) {
    await talk.say("Ask the app", { tools: APP_TOOLS });
    const open = talk.openCalls();
    assert.deepEqual(open.map((call) => call.function.name), ["get_location", "set_theme"]);
    assert.deepEqual(talk.finished().outcome, { type: "success", pendingToolCallIds: open.map((call) => call.id) });
    open.forEach((call) => talk.answer(call, "done in the app"));
    await talk.run({ tools: APP_TOOLS });
    assert.deepEqual(talk.finished().outcome, { type: "success" });
    assert.match(talk.text(), /Your app has answered\.$/);
  },

  async "client-and-server-tools"(talk) {
    await talk.say("Ask both", { tools: APP_TOOLS });
    const open = talk.openCalls();
    assert.deepEqual(open.map((call) => call.function.name), ["get_location"]);
    assert.deepEqual(talk.finished().outcome.pendingToolCallIds, [open[0].id]);
    assert.equal(talk.result("get_secret_number"), "42", "the server's own call was run there");
    talk.answer(open[0], "Oslo");
    await talk.run({ tools: APP_TOOLS });
    assert.match(talk.text(), /Both have answered\.$/);
  },

  async "tool-the-client-lacks"(talk) {
    await talk.say("Ask the app");
    assert.deepEqual(talk.finished().outcome, { type: "success" });
    assert.match(talk.result("get_location"), /get_location/);
    assert.deepEqual(talk.openCalls(), []);
  },

  async reasoning(talk) {
    await talk.say("think");
    talk.finished();
    const reasoning = talk.agent.messages.filter((message) => message.role === "reasoning");
    assert.equal(reasoning.map((message) => message.content).join(""), "The user wants to see me think. I think, and then I say so.");
    assert.ok(talk.kinds().includes("REASONING_MESSAGE_CONTENT"));
    await talk.say("think");
    talk.finished();
  },

  async "state-deltas"(talk) {
    talk.agent.state = { owner: "me" };
    await talk.say("Put it on the list");
    talk.finished();
    assert.equal(talk.kinds().filter((kind) => kind === "STATE_DELTA").length, 2);
    const todos = [{ title: "Buy tea", done: true }, { title: "Drink tea", done: false }];
    assert.deepEqual(talk.agent.state, { owner: "me", todos });
  },

  async "interrupt-approved"(talk) {
    await talk.say("change");
    const { outcome } = talk.finished();
    assert.equal(outcome.type, "interrupt");
    const [interrupt] = talk.agent.pendingInterrupts;
    assert.equal(interrupt.reason, "tool_call");
    assert.equal(interrupt.toolCallId, talk.openCalls()[0].id);
    assert.ok(Date.parse(interrupt.expiresAt) > Date.now());
    await assert.rejects(talk.run(), /pending interrupt/, "the client itself holds to the rule");
    await talk.run({ resume: [yes(interrupt)] });
    assert.deepEqual(talk.finished().outcome, { type: "success" });
    assert.ok(!talk.kinds().includes("TOOL_CALL_START"), "the call is not told again");
    assert.equal(talk.result("set_secret_number"), "alice's secret number is 43 now");
    assert.match(talk.text(), /That is settled\.$/);
    assert.deepEqual(talk.agent.pendingInterrupts, []);
  },

  async "interrupt-denied"(talk) {
    await talk.say("change");
    const [interrupt] = talk.agent.pendingInterrupts;
    await talk.run({ resume: [yes(interrupt, { approved: false, reason: "not today" })] });
    assert.deepEqual(talk.finished().outcome, { type: "success" });
    assert.match(talk.result("set_secret_number"), /did not allow.*not today/);
  },

  async "interrupt-edited"(talk) {
    await talk.say("change");
    const [interrupt] = talk.agent.pendingInterrupts;
    await talk.run({ resume: [yes(interrupt, { approved: true, editedArgs: { name: "alice", number: 44 } })] });
    talk.finished();
    assert.match(talk.result("set_secret_number"), /alice's secret number is 44 now/);
  },

  async "interrupt-cancelled"(talk) {
    await talk.say("change");
    const [interrupt] = talk.agent.pendingInterrupts;
    await talk.run({ resume: [{ interruptId: interrupt.id, status: "cancelled" }] });
    assert.deepEqual(talk.finished().outcome, { type: "success" });
    assert.match(talk.result("set_secret_number"), /did not allow/);
  },

  async "interrupt-refusals"(talk) {
    await talk.say("change");
    const [interrupt] = talk.agent.pendingInterrupts;
    const refused = async (resume, code) => {
      const events = await talk.run({ resume });
      assert.deepEqual([events.at(-1).type, events.at(-1).code], ["RUN_ERROR", code]);
    };
    await refused([yes(interrupt), yes({ id: "made-up" })], "interrupt_unknown");
    await refused([yes(interrupt), yes(interrupt)], "interrupt_answered_twice");
    await refused([yes(interrupt, "yes")], "interrupt_answer_invalid");
    talk.agent.pendingInterrupts = [];
    await refused(undefined, "interrupts_open");
    await talk.run({ resume: [yes(interrupt)] });
    talk.finished();
    await refused([yes(interrupt)], "interrupt_unknown");
  },

  async "interrupt-beside-client-tools"(talk) {
    await talk.say("everything", { tools: APP_TOOLS });
    const [interrupt] = talk.agent.pendingInterrupts;
    assert.equal(talk.result("get_secret_number"), "7");
    assert.deepEqual(talk.openCalls().map((call) => call.function.name), ["get_location", "set_secret_number"]);
    talk.answer(talk.openCalls()[0], "Oslo");
    await talk.run({ tools: APP_TOOLS, resume: [yes(interrupt)] });
    assert.deepEqual(talk.finished().outcome, { type: "success" });
    assert.equal(talk.kinds().filter((kind) => kind === "TOOL_CALL_RESULT").length, 1, "what the client has is not told again");
    assert.deepEqual(talk.openCalls(), []);
    assert.match(talk.text(), /All is done\.$/);
  },

  async "client-tools-after-an-interrupt"(talk) {
    await talk.say("everything", { tools: APP_TOOLS });
    const [interrupt] = talk.agent.pendingInterrupts;
    await talk.run({ tools: APP_TOOLS, resume: [yes(interrupt)] });
    const open = talk.openCalls();
    assert.deepEqual(talk.finished().outcome, { type: "success", pendingToolCallIds: open.map((call) => call.id) });
    assert.deepEqual(open.map((call) => call.function.name), ["get_location"]);
    talk.answer(open[0], "Oslo");
    await talk.run({ tools: APP_TOOLS });
    assert.match(talk.text(), /All is done\.$/);
  },

  async "question-of-a-running-tool"(talk) {
    await talk.say("order");
    const [which] = talk.agent.pendingInterrupts;
    assert.equal(which.reason, "input_required");
    assert.equal(which.toolCallId, talk.openCalls()[0].id);
    assert.deepEqual(which.responseSchema.required, ["tea", "cups"]);
    await talk.run({ resume: [yes(which, { tea: "mint", cups: 1 })] });
    const [sure] = talk.agent.pendingInterrupts;
    assert.equal(sure.message, "Order a cup of mint tea?");
    await talk.run({ resume: [yes(sure, true)] });
    assert.deepEqual(talk.finished().outcome, { type: "success" });
    assert.equal(talk.result("order_tea"), "Ordered: a cup of mint tea.");
  },

  async error(talk) {
    await talk.say("fail");
    const last = talk.events.at(-1);
    assert.deepEqual([last.type, last.code, last.message], ["RUN_ERROR", "model_unavailable", "the model's provider is out of service: try again in a while"]);
    await talk.say("refuse");
    assert.equal(talk.events.at(-1).code, "model_unauthorized");
    assert.doesNotMatch(talk.events.at(-1).message, /sk-/);
    await talk.say("hello");
    talk.finished();
  },

  async "request-refused"(talk) {
    const twice = { ...APP_TOOLS[0], name: "get_secret_number" };
    await assert.rejects(talk.say("hello", { tools: [twice] }), /422/);
  },

  async cancel(talk) {
    const stopped = talk.say("wait", {}, { onTextMessageContentEvent: () => talk.agent.abortRun() });
    await stopped;
    assert.ok(!talk.kinds().includes("RUN_FINISHED"));
    // There is room for one run: the next begins once the server has let go of this one.
    for (;;) {
      const events = await talk.say("hello").catch((error) => {
        assert.match(String(error), /503/);
        return [];
      });
      if (events.at(-1)?.type === "RUN_FINISHED") break;
    }
  },
};

const [url, folder] = process.argv.slice(2);
process.exitCode = (await play(scenarios, url, folder)) ? 0 : 1;
