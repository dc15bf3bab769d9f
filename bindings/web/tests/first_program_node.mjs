// The first program of README under Node, by a clock of the test's own; the page is a text here.

import { mock } from "node:test";
import { cases, program } from "./first_program_cases.mjs";

const AsyncFunction = (async () => {}).constructor;
const source = program.slice(program.indexOf("await init();") + "await init();".length);
const setUp = ["Agent", "agUi", "document", "confirm", "prompt", "addEventListener"];

/** Lets all that is ready happen. */
const settled = () => new Promise((done) => setImmediate(done));

async function play({ Agent, agUi }, name, { answers, dialogs = [], stops, shows, sends, sent }) {
  const wrong = [];
  const said = [...dialogs];
  const bodies = [];
  const listeners = {};
  let shown = "";
  const document = { body: { append: (text) => (shown += text) } };
  const ask = () => said.shift();
  const listen = (event, listener) => (listeners[event] = listener);
  globalThis.fetch = (url, { body, signal }) => {
    const answer = answers[bodies.length];
    bodies.push(JSON.parse(body));
    if (answer === undefined) wrong.push(`${name}: a request too many`);
    if (answer?.stalls) {
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    }
    if (answer === undefined || answer.abort) return Promise.reject(new TypeError("fetch failed"));
    const headers = { "content-type": "text/event-stream", ...answer.headers };
    return Promise.resolve(new Response(answer.body, { status: answer.status, headers }));
  };
  const program = new AsyncFunction(...setUp, source)(Agent, agUi, document, ask, ask, listen);
  program.catch((error) => wrong.push(`${name}: ${error}`));
  // Its request goes out.
  await settled();
  if (stops) listeners.keydown({ key: "Escape" });
  // More than all tries and silences together.
  for (let step = 0; step < 1000 && !shows.test(shown); step += 1) {
    await settled();
    if (!stops) mock.timers.tick(1000);
  }
  if (!shows.test(shown)) wrong.push(`${name}: it shows ${JSON.stringify(shown)}`);
  if (sends && JSON.stringify(sends(bodies.at(-1))) !== JSON.stringify(sent)) {
    wrong.push(`${name}: the agent was sent ${JSON.stringify(sends(bodies.at(-1)))}`);
  }
  if (bodies.length !== answers.length) wrong.push(`${name}: ${bodies.length} requests`);
  return wrong;
}

/** What is wrong. */
export async function firstProgramUnderNode(stepwell) {
  const wrong = [];
  globalThis.location = new URL("http://127.0.0.1/");
  for (const [name, what] of Object.entries(cases)) {
    mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
    wrong.push(...(await play(stepwell, name, what)));
    mock.timers.reset();
  }
  delete globalThis.location;
  console.log(`the first program in ${Object.keys(cases).length} cases, ${wrong.length} wrong`);
  return wrong;
}
