// The first program of README in a page: what it does when all is well, and when it is not.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
const program = /```js\n(.*?)```/s.exec(readme)[1];
const document_ = `<!doctype html><title>Stepwell</title>
<script type="importmap">{"imports":{"stepwell":"/package/stepwell.js"}}</script>
<script type="module">${program}</script>`;

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

/** The answers of the agent in order, what is said to dialogs, what the user does, and what the page shows then. */
const cases = {
  "an answer": { answers: [says("Noon.")], shows: /^Noon\.$/ },
  "a wrong key": { answers: [{ status: 401, body: '{"message":"wrong key"}' }], shows: /wrong key/ },
  "a busy server": {
    answers: [{ status: 503 }, { status: 429, headers: { "retry-after": "0" } }, says("Noon.")],
    shows: /^Noon\.$/,
  },
  "no network": { answers: [{ abort: true }, { abort: true }, { abort: true }, { abort: true }], shows: /fetch/i },
  "an agent that falls silent": {
    answers: [{ stalls: true }, { stalls: true }, { stalls: true }, { stalls: true }],
    clock: true,
    // Two minutes of silence, and the pause before the next try.
    act: (page) => page.clock.runFor(130_000),
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
  "the user stops it": { answers: [{ stalls: true }], act: (page) => page.keyboard.press("Escape"), shows: /cancel|stopped/i },
};

/** What is wrong. */
export async function firstProgram(browser, address) {
  const wrong = [];
  for (const [name, { answers, dialogs = [], clock, act, shows, sends, sent }] of Object.entries(cases)) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const bodies = [];
    const said = [...dialogs];
    page.on("pageerror", (error) => wrong.push(`${name}: ${error}`));
    page.on("dialog", (dialog) => {
      const answer = said.shift();
      if (answer === false) return dialog.dismiss();
      return dialog.accept(typeof answer === "string" ? answer : undefined);
    });
    await page.route("**/first", (route) => route.fulfill({ contentType: "text/html", body: document_ }));
    const seen = answers.map(() => {
      let resolve;
      const promise = new Promise((resolved) => (resolve = resolved));
      return { promise, resolve };
    });
    await page.route("**/agent", async (route) => {
      const answer = answers[bodies.length];
      seen[bodies.length]?.resolve();
      bodies.push(route.request().postDataJSON());
      if (answer === undefined) wrong.push(`${name}: a request too many`);
      else if (answer.abort) await route.abort();
      else if (!answer.stalls) await route.fulfill({ contentType: "text/event-stream", ...answer });
    });
    if (clock) await page.clock.install();
    await page.goto(`${address}first`);
    if (act) {
      for (const request of seen) {
        await request.promise;
        await act(page);
      }
    }
    const shown = () => page.evaluate(() => document.body.textContent);
    try {
      await page.waitForFunction((wanted) => new RegExp(wanted, "i").test(document.body.textContent), shows.source);
    } catch {
      wrong.push(`${name}: the page shows ${JSON.stringify(await shown())}`);
    }
    if (sends && JSON.stringify(sends(bodies.at(-1))) !== JSON.stringify(sent)) {
      wrong.push(`${name}: the agent was sent ${JSON.stringify(sends(bodies.at(-1)))}`);
    }
    if (bodies.length !== answers.length) wrong.push(`${name}: ${bodies.length} requests`);
    await context.close();
  }
  console.log(`the first program in ${Object.keys(cases).length} cases, ${wrong.length} wrong`);
  return wrong;
}
