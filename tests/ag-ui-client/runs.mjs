// What every client plays with `stepwell serve`, whatever its version.
import assert from "node:assert/strict";

const TOOLS = [
  { name: "get_location", description: "Where the user is.", parameters: { type: "object", properties: {} } },
  {
    name: "set_theme",
    description: "Sets the app's theme.",
    parameters: { type: "object", properties: { theme: { type: "string" } }, required: ["theme"] },
  },
];

// A word for the scripted model, how many calls it leaves to the client, and whether it asks the user.
const RUNS = [
  ["hello", 0, false],
  ["think", 0, false],
  ["app", 2, false],
  ["both", 1, false],
  ["list", 0, false],
  ["change", 1, true],
  ["everything", 2, true],
  ["numbers", 0, false],
];

/** Goes on with the thread, and gives the last event. */
async function run(agent, parameters = {}) {
  let last;
  let failure;
  await agent.runAgent(
    { tools: TOOLS, ...parameters },
    { onEvent: ({ event }) => void (last = event), onRunFailed: ({ error }) => void (failure = error) },
  );
  assert.equal(failure, undefined);
  return last;
}

async function finished(agent, parameters) {
  const last = await run(agent, parameters);
  assert.equal(last?.type, "RUN_FINISHED", JSON.stringify(last));
  return last;
}

function openCalls(agent) {
  const answered = new Set(agent.messages.filter(({ role }) => role === "tool").map((message) => message.toolCallId));
  return agent.messages.flatMap((message) => message.toolCalls ?? []).filter((call) => !answered.has(call.id));
}

/**
 * Plays all runs with agents of a client: `agentOf` makes one for a thread. Clients from before there were interrupts
 * cannot answer them (`answers`), and one cannot apply a patch to its state (`patches`).
 */
export async function play(name, agentOf, { answers = true, patches = true } = {}) {
  // Some say much there.
  const { warn, error } = console;
  console.warn = console.error = () => {};
  for (const [word, calls, asks] of RUNS) {
    const what = `${name}: ${word}`;
    const agent = agentOf(`${name}-${word}`);
    agent.addMessage({ id: `question-${name}-${word}`, role: "user", content: word });
    const { outcome } = await finished(agent);
    assert.equal(outcome?.type === "interrupt", asks, what);
    const open = openCalls(agent);
    assert.equal(open.length, calls, what);
    if (word === "list" && patches) assert.equal(agent.state.todos?.length, 2, what);
    if (calls === 0 || (asks && !answers)) continue;
    const asked = new Set(outcome?.interrupts?.map((interrupt) => interrupt.toolCallId));
    for (const call of open.filter((call) => !asked.has(call.id))) {
      agent.addMessage({ id: `answer-${call.id}`, role: "tool", toolCallId: call.id, content: "Oslo" });
    }
    const resume = outcome?.interrupts?.map(({ id }) => ({ interruptId: id, status: "resolved", payload: { approved: true } }));
    await finished(agent, { resume });
    assert.deepEqual(openCalls(agent), [], what);
  }
  const agent = agentOf(`${name}-fail`);
  agent.addMessage({ id: `question-${name}-fail`, role: "user", content: "fail" });
  const last = await run(agent);
  assert.deepEqual([last?.type, last?.code], ["RUN_ERROR", "model_unavailable"], name);
  Object.assign(console, { warn, error });
  console.log(`${name.padEnd(28)} ${RUNS.length + 1} runs${answers ? "" : ", without answers to questions"}`);
}

/** Comes back to a run whose connection was cut, as a page does that is reloaded; and stops one. `url` is the agent's. */
export async function comeBack(name, agentOf, url) {
  const { warn, error } = console;
  console.warn = console.error = () => {};
  const asks = (thread, word) => {
    const agent = agentOf(`${name}-${thread}`);
    agent.addMessage({ id: `question-${name}-${thread}`, role: "user", content: word });
    return agent;
  };
  const begun = (agent, runId) =>
    new Promise((resolve) => {
      const run = agent.runAgent({ runId }, { onTextMessageContentEvent: () => resolve(run) });
      // One that is cut ends as its version has it.
      run.catch(() => {});
    });
  const texts = (agent) => agent.messages.filter(({ role }) => role === "assistant").map(({ content }) => content ?? "").join("");

  const cut = asks("cut", "slow");
  await begun(cut, "cut");
  cut.abortRun();
  await finished(cut, { runId: "cut" });
  assert.equal(texts(cut), "This takes a while. Both are done.", `${name}: a page that was cut has all, once`);
  const reloaded = asks("cut", "slow");
  await finished(reloaded, { runId: "cut" });
  assert.equal(texts(reloaded), "This takes a while. Both are done.", `${name}: a page that is reloaded has all`);
  const later = asks("cut", "slow");
  await finished(later, { runId: "cut" });
  assert.deepEqual(later.messages, reloaded.messages, `${name}: and so has one that comes when the run is over`);

  const stopped = asks("stop", "wait");
  let last;
  const run = stopped.runAgent({ runId: "stop" }, { onEvent: ({ event }) => void (last = event) });
  while (texts(stopped) === "") await new Promise((resolve) => setTimeout(resolve, 10));
  const body = JSON.stringify({ threadId: stopped.threadId, runId: "stop" });
  const answer = await fetch(`${url}/stop`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  assert.equal(answer.status, 204, name);
  await run;
  // Before 1.0 a run could not be finished as cancelled.
  const end = last?.type === "RUN_ERROR" ? last.code : last?.outcome?.type;
  assert.equal(end, last?.type === "RUN_ERROR" ? "abort" : "cancelled", `${name}: a run that is stopped ends`);
  Object.assign(console, { warn, error });
  console.log(`${name.padEnd(28)} cut, reloaded, played again, stopped`);
}
