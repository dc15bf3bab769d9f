// The first program under Node, `examples/web/hello.mjs`: an answer by way of a tool, and a wrong key.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { answer, calls, says } from "./agent.mjs";

const AsyncFunction = (async () => {}).constructor;
const whole = readFileSync(join(import.meta.dirname, "../../../examples/web/hello.mjs"), "utf8");
const program = whole.slice(whole.indexOf("await init();") + "await init();".length);

/** What is wrong. */
export async function hello({ Agent, openai }) {
  const wrong = [];
  const { fetch } = globalThis;
  const cases = [
    [[answer(calls("get_secret_number", '{"name":"Alice"}')), answer(says("Alice's is 42."))], "Alice's is 42.\n", undefined],
    [[answer('{"error":{"message":"wrong key"}}', { status: 401 })], "", 1],
  ];
  for (const [answers, expected, code] of cases) {
    globalThis.fetch = async () => answers.shift();
    let [printed, told] = ["", ""];
    const console = { log: (text = "") => (printed += `${text}\n`), error: (text) => (told += text) };
    const process = { argv: ["node", "hello.mjs", "http://localhost/v1"], stdout: { write: (text) => (printed += text) } };
    await new AsyncFunction("Agent", "openai", "process", "console", program)(Agent, openai, process, console);
    if (printed !== expected || process.exitCode !== code || (code && !/wrong key; give another key/.test(told))) wrong.push(`hello.mjs prints ${printed}${told}`);
  }
  globalThis.fetch = fetch;
  return wrong;
}
