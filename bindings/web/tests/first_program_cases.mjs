// The first program of README for a page, and what is to become of it when all is well, and when it is not.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
/** As the page shows it. */
export const program = /from here -->\n```js\n(.*?)```/s.exec(readme)[1];
const started = { type: "RUN_STARTED", threadId: "thread-1", runId: "r" };
const finished = { type: "RUN_FINISHED", threadId: "thread-1", runId: "r" };
const run = (...events) => [started, ...events, finished].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const text = (delta) => ({ type: "TEXT_MESSAGE_CHUNK", messageId: `m-${delta}`, role: "assistant", delta });
const call = (id) => ({ type: "TOOL_CALL_CHUNK", toolCallId: id, toolCallName: "get_time", delta: "{}" });
const says = (delta) => ({ body: run(text(delta)) });
const asks = (...interrupts) => ({
  body: [started, { ...finished, outcome: { type: "interrupt", interrupts } }]
    .map((event) => `data: ${JSON.stringify(event)}\n\n`)
    .join(""),
});

/**
 * The answers of the agent in order, what is said to dialogs, whether two minutes pass over each or the user stops it, and
 * what the page shows then.
 */
export const cases = {
  "an answer": { answers: [says("Noon.")], shows: /^Noon\.$/ },
  "a wrong key": { answers: [{ status: 401, body: '{"message":"wrong key"}' }], shows: /wrong key/ },
  "a busy server": {
    answers: [{ status: 503 }, { status: 429, headers: { "retry-after": "0" } }, says("Noon.")],
    shows: /^Noon\.$/,
  },
  "a server that stays busy": {
    answers: Array(4).fill({ status: 503, headers: { "retry-after": "0" }, body: '{"message":"too many people"}' }),
    shows: /too many people/,
  },
  "no network": { answers: [{ abort: true }, { abort: true }, { abort: true }, { abort: true }], shows: /fetch/i },
  "an agent that falls silent": {
    answers: [{ stalls: true }, { stalls: true }, { stalls: true }, { stalls: true }],
    passes: true,
    shows: /silent/,
  },
  "two approvals at once": {
    answers: [{ body: run(call("a"), call("b")) }, says("Noon.")],
    dialogs: [true, false],
    shows: /^Noon\.$/,
    sends: (body) => body.messages.filter(({ role }) => role === "tool").map(({ content }) => /not now/.test(content)),
    sent: [false, true],
  },
  "questions of the agent": {
    answers: [
      asks({ id: "where", reason: "input_required", message: "Where?" }, { id: "pay", reason: "tool_call", responseSchema: { properties: { approved: {} } } }),
      says("In Rome."),
    ],
    dialogs: ["Rome", true],
    shows: /^In Rome\.$/,
    sends: (body) => body.resume.map(({ payload }) => payload),
    sent: ["Rome", { approved: true }],
  },
  "the user stops it": { answers: [{ stalls: true }], stops: true, shows: /^ \(stopped\)$/ },
};
