// Every version of the official AG-UI client takes what `stepwell serve` sends it: `node versions.mjs URL`. Those from
// before 1.0 declare no version, and refuse a whole run for one event that they do not know.
import assert from "node:assert/strict";

const VERSIONS = ["ag-ui-client-0.0.47", "ag-ui-client-0.0.53", "ag-ui-client-0.0.59", "@ag-ui/client"];

const TOOLS = [
  { name: "get_location", description: "Where the person is.", parameters: { type: "object", properties: {} } },
  {
    name: "set_theme",
    description: "Sets the app's theme.",
    parameters: { type: "object", properties: { theme: { type: "string" } }, required: ["theme"] },
  },
];

// A word for the scripted model, how many calls it leaves to the client, and whether it asks the person.
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
async function run(agent) {
  let last;
  let failure;
  await agent.runAgent(
    { tools: TOOLS },
    { onEvent: ({ event }) => void (last = event), onRunFailed: ({ error }) => void (failure = error) },
  );
  assert.equal(failure, undefined);
  assert.equal(last?.type, "RUN_FINISHED");
  return last;
}

function openCalls(agent) {
  const answered = new Set(agent.messages.filter(({ role }) => role === "tool").map((message) => message.toolCallId));
  return agent.messages.flatMap((message) => message.toolCalls ?? []).filter((call) => !answered.has(call.id));
}

const url = process.argv[2];
// Older versions say much there.
console.warn = console.error = () => {};
for (const version of VERSIONS) {
  const { HttpAgent } = await import(version);
  for (const [word, calls, asks] of RUNS) {
    const what = `${version}: ${word}`;
    const id = `${version}-${word}`;
    const agent = new HttpAgent({ url, threadId: id });
    agent.addMessage({ id: `question-${id}`, role: "user", content: word });
    const { outcome } = await run(agent);
    assert.equal(outcome?.type === "interrupt", asks, what);
    const open = openCalls(agent);
    assert.equal(open.length, calls, what);
    if (calls === 0 || asks) continue;
    for (const call of open) agent.addMessage({ id: `answer-${call.id}`, role: "tool", toolCallId: call.id, content: "Oslo" });
    await run(agent);
    assert.deepEqual(openCalls(agent), [], what);
  }
  console.log(`${version.padEnd(20)} ${RUNS.length} runs`);
}
