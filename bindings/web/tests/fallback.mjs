// Other models take the place of one that failed, and models that the page's code chooses; under Node and in a page.

import { answer, calls, ended, says } from "./agent.mjs";

let made = 0;

/** What is wrong. */
export async function fallback({ Agent }) {
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`fallback: ${what}`);
  const overloaded = () => answer('{"error":{"message":"overloaded"}}', { status: 529 });
  /** Two models, which no other test has asked. */
  const agent = (answers, options = {}) => {
    made += 1;
    const at = (name) => ({ provider: "openai-compatible", name, baseUrl: `http://localhost/${made}/v1`, ...options.keys?.[name] });
    const asked = [];
    const fetch = async (_, { headers, body }) => {
      asked.push({ model: JSON.parse(body).model, key: new Map(headers).get("authorization") });
      return answers.shift();
    };
    const work = { name: "work", description: "Works.", execute: () => "done" };
    const { keys: _, ...rest } = options;
    const one = () => new Agent({ model: at("first"), fallback: [at("second")], fetch, retry: { attempts: 1 }, tools: [work], ...rest });
    return { asked, agent: one(), again: one };
  };
  const models = (asked) => asked.map(({ model }) => model).join();

  {
    const { agent: one, asked, again } = agent([overloaded(), answer(calls("work")), answer(says("Yes.")), answer(says("Again."))]);
    const turn = one.stream("Hello");
    const changes = [];
    for await (const update of turn) if (update.type === "modelChanged") changes.push(`${update.previous.model} to ${update.model.model} after ${update.after}`);
    check("the second model answers", (await turn.result).text === "Yes." && models(asked) === "first,second,second");
    check(`the app is told: ${changes}`, changes.join() === "first to second after overloaded");
    await again().run("And?");
    check("the first one rests, for other agents too", models(asked) === "first,second,second,second");
  }
  {
    const { agent: one, asked } = agent([overloaded(), answer(says("Yes.")), answer(says("Again."))], { modelRestMs: 0 });
    await one.run("Hello");
    await one.run("And?");
    check("but no longer than it should", models(asked) === "first,second,first");
  }
  {
    const { agent: one, asked } = agent([overloaded(), overloaded(), overloaded(), answer(says("Yes."))]);
    const failed = await ended(one.stream("Hello"));
    check(`the last failure is the turn's: ${failed}`, failed.kind === "overloaded" && failed.model === "second" && failed.provider === "openai-compatible");
    await ended(one.stream("Hello"));
    check("where both rest they are asked in their order", models(asked) === "first,second,first,second");
  }
  {
    const { agent: one, asked } = agent([overloaded()], { fallbackAfter: ["timeout"] });
    check("other failures end the turn", (await ended(one.stream("Hello"))).kind === "overloaded" && models(asked) === "first");
  }
  {
    const seen = [];
    const modelFor = (hop) => (seen.push(hop.tools.join()), hop.tools.length);
    const { agent: one, asked } = agent([answer(calls("work")), answer(says("Yes."))], { modelFor });
    check("the page's code chooses", (await one.run("Hello")).text === "Yes." && models(asked) === "first,second" && seen.join("|") === "|work");
  }
  for (const modelFor of [() => 7, () => Promise.reject(new Error("no table"))]) {
    const { agent: one, asked } = agent([answer(says("Yes."))], { modelFor });
    check("a choice that is none changes nothing", (await one.run("Hello")).text === "Yes." && models(asked) === "first");
  }
  {
    const wanted = [];
    const apiKey = (request) => (wanted.push(request.model.model), `key of ${request.model.model}`);
    const { agent: one, asked } = agent([overloaded(), answer(says("Yes."))], { keys: { first: { apiKey: "mine" }, second: { apiKey } } });
    await one.run("Hello");
    check(`each model has its key: ${JSON.stringify(asked)}`, asked.map(({ key }) => key).join() === "Bearer mine,Bearer key of second" && wanted.join() === "second");
  }
  return wrong;
}
