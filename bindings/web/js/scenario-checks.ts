// Compares the results of a scenario with its file.

import type { RunMachine } from "./machine.js";
import { type Fields, outcomeLine, RUN, type ScenarioHost, snake } from "./scenario-host.js";
import type { Scenario } from "./testing.js";

/** Whether the file has an expectation here: an empty object should be filled in. */
const isSaid = (value: object | undefined): value is object => value !== undefined && Object.keys(value).length > 0;

/** The results that differ from the file. */
export function differences(file: Scenario, played: Scenario): string[] {
  const found: string[] = [];
  const compare = (what: string, expected: object | undefined, came: object | undefined) => {
    if (isSaid(expected) && !same(expected, came)) {
      found.push(`${what}: the file says ${JSON.stringify(expected)}, it came to ${JSON.stringify(came)}`);
    }
  };
  file.steps.forEach((step: Fields, index) => {
    compare(`step ${index + 1} (${step.input})`, step.gives, (played.steps[index] as Fields).gives);
  });
  compare("the digests", file.digests, played.digests);
  compare("the chats", file.chats, played.chats);
  return found;
}

/** The author's expectations that the played scenario does not meet. */
export function unexpected(expect: Fields, steps: Fields[], host: ScenarioHost): string[] {
  const found: string[] = [];
  const effects = steps.flatMap(({ gives }): Fields[] => gives.effects ?? []);
  const compare = (what: string, expected: unknown, came: unknown) => {
    if (!same(expected, came)) found.push(`${what} should be ${JSON.stringify(expected)}, it is ${JSON.stringify(came)}`);
  };
  for (const [what, expected] of Object.entries(expect)) {
    switch (what) {
      case "state":
        compare(what, expected, snake(host.run(RUN).state));
        break;
      case "outcome":
        compare(what, expected, outcome(host.run(RUN)));
        break;
      case "text":
        compare(what, expected, host.run(RUN).text);
        break;
      case "history":
        compare(what, expected, history(host.run(RUN)));
        break;
      case "others":
        for (const [name, other] of Object.entries(expected)) {
          compare(`\`${name}\``, other, { outcome: outcome(host.run(name)), history: history(host.run(name)) });
        }
        break;
      case "tools_run":
        compare(what, expected, effects.filter(({ effect }) => effect === "run_tool").map(({ id }) => id));
        break;
      case "requests": {
        const sent = effects.filter(({ effect }) => effect === "open_stream");
        const isLacking = sent.length !== expected.length || sent.some((request, index) => !holds(request, expected[index]));
        if (isLacking) compare(what, expected, sent);
        break;
      }
      case "seen": {
        const events = steps.flatMap(({ gives }): string[] => gives.events ?? []);
        let from = 0;
        const missing = expected.find((wanted: string) => (from = events.indexOf(wanted, from) + 1) === 0);
        if (missing !== undefined) found.push(`\`${missing}\` is not seen, in this order: ${JSON.stringify(events)}`);
        break;
      }
      default:
        throw new TypeError(`there is no expectation \`${what}\``);
    }
  }
  return found;
}

/** The part of the outcome before the sentence: `failed api`, `success`. */
function outcome({ outcome }: RunMachine): string | null {
  return outcome ? (outcomeLine(outcome).split(":")[0] ?? null) : null;
}

/** Text, or parts in short. */
function short(content: string | { type: string; text?: string }[]): string {
  return typeof content === "string" ? content : content.map(({ type, text }) => text ?? `[${type}]`).join(" ");
}

/** The conversation in a line each: the role, and the content. */
function history(machine: RunMachine): string[] {
  return machine.messages.flatMap(({ role, content, toolCalls = [] }: Fields) => [
    ...(content && role !== "activity" ? [`${role}: ${short(content)}`] : []),
    ...toolCalls.map((call: Fields) => `${role} calls ${call.function.name} ${call.function.arguments}`),
  ]);
}

/** Whether two values are the same JSON, whatever the order of their fields. */
function same(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [left, right] = [one as Fields, other as Fields];
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => name in right && same(left[name], right[name]));
}

/** Whether a value has all that is expected: an object may have more fields, a list must be as long. */
function holds(value: unknown, wanted: unknown): boolean {
  if (typeof value !== "object" || typeof wanted !== "object" || !value || !wanted) return (value ?? null) === wanted;
  if (Array.isArray(value) !== Array.isArray(wanted)) return false;
  if (Array.isArray(value) && value.length !== (wanted as unknown[]).length) return false;
  return Object.entries(wanted).every(([name, field]) => holds((value as Fields)[name], field));
}
