// The programs of `examples/web` about keys, guards and approvals, as they stand there.

import { readFileSync } from "node:fs";
import { answer, calls, says } from "./agent.mjs";

const AsyncFunction = (async () => {}).constructor;

/** What is wrong. */
export async function tokens({ Agent, openai }) {
  const source = readFileSync(new URL("../../../examples/web/tokens.mjs", import.meta.url), "utf8");
  const program = source.replace(/^import .*$/m, "");
  const keys = [];
  const before = globalThis.fetch;
  globalThis.fetch = async (_, { headers }) => {
    keys.push(new Map(headers).get("authorization"));
    return keys.length === 1 ? answer("{}", { status: 401 }) : answer(says("Oslo."));
  };
  let said = "";
  const page = [async () => {}, Agent, openai, { argv: ["node", "tokens.mjs", "http://localhost/v1"] }, { log: (text) => (said += text) }];
  await new AsyncFunction("init", "Agent", "openai", "process", "console", program)(...page);
  globalThis.fetch = before;
  const isRight = said === "Oslo." && keys.join() === "Bearer old,Bearer new" && source.split("\n").length <= 25;
  return isRight ? [] : [`tokens.mjs: ${said}, ${keys}`];
}

/** What is wrong with the program of `examples/web/guard.mjs`. */
export async function guard({ Agent, HookRefusal, openai }) {
  const source = readFileSync(new URL("../../../examples/web/guard.mjs", import.meta.url), "utf8");
  const program = source.replace(/^import .*$/m, "");
  const bodies = [calls("get_secret_number", '{"name":"bob"}'), says("Alice's is 42.")];
  const requests = [];
  const before = globalThis.fetch;
  globalThis.fetch = async (_, { body }) => {
    requests.push(body);
    return answer(bodies.shift());
  };
  let said = "";
  const page = [async () => {}, Agent, HookRefusal, openai, { argv: ["node", "guard.mjs", "http://localhost/v1"] }, { log: (text) => (said += text) }];
  await new AsyncFunction("init", "Agent", "HookRefusal", "openai", "process", "console", program)(...page);
  globalThis.fetch = before;
  const isRight = said.includes("it tells the number") && requests[1]?.includes("Bob's is his own") && source.split("\n").length <= 25;
  return isRight ? [] : [`guard.mjs: ${said}`];
}

/** What is wrong with the program of `examples/web/approve.mjs`. */
export async function approve({ Agent, openai }) {
  const source = readFileSync(new URL("../../../examples/web/approve.mjs", import.meta.url), "utf8");
  const program = source.replace(/^import .*$/gm, "");
  const wrong = [];
  for (const [typed, told] of [["yes", "paid 5 euros"], ["later", "the user said no"]]) {
    const bodies = [calls("pay", '{"euros":5}'), says("As you like.")];
    const requests = [];
    const before = globalThis.fetch;
    globalThis.fetch = async (_, { body }) => {
      requests.push(body);
      return answer(bodies.shift());
    };
    let said = "";
    const terminal = { question: async (question) => ((said += question), typed), close: () => {} };
    const page = [async () => {}, Agent, openai, () => terminal, { argv: ["node", "approve.mjs", "http://localhost/v1"] }, { log: (text) => (said += text) }];
    await new AsyncFunction("init", "Agent", "openai", "createInterface", "process", "console", program)(...page);
    globalThis.fetch = before;
    if (said !== "Pay 5 euros? As you like." || !requests[1]?.includes(told)) wrong.push(`approve.mjs: ${said}`);
  }
  return wrong;
}
