// The first program with a typed answer under Node, by a type of Zod's: `examples/web/trip.mjs`.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { answer, says } from "./agent.mjs";

const AsyncFunction = (async () => {}).constructor;
const whole = readFileSync(join(import.meta.dirname, "../../../examples/web/trip.mjs"), "utf8");
const program = whole.slice(whole.indexOf("await init();") + "await init();".length);

/** What is wrong. */
export async function trip({ Agent, openai }) {
  const answers = ['{"city":"Bergen","days":0}', '{"city":"Bergen","days":3}'];
  const bodies = [];
  const { fetch } = globalThis;
  globalThis.fetch = async (_, { body }) => {
    bodies.push(body);
    return answer(says(answers.shift()));
  };
  const printed = [];
  const console = { log: (line) => printed.push(line) };
  const process = { argv: ["node", "trip.mjs", "http://localhost/v1"], env: {} };
  await new AsyncFunction("Agent", "openai", "z", "process", "console", program)(Agent, openai, z, process, console);
  globalThis.fetch = fetch;
  const wrong = [];
  if (printed.join() !== "3 days in Bergen") wrong.push(`trip.mjs prints ${printed}`);
  if (!bodies[0].includes("At least one.")) wrong.push("trip.mjs: the model is not told what Zod says");
  if (bodies.length !== 2) wrong.push(`trip.mjs: ${bodies.length} requests`);
  return wrong;
}
