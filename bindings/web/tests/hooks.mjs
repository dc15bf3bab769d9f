// Hooks: the page's code looks at requests, answers and tools, changes them, or refuses them; under Node and in a page.

import { answer, calls, ended, model, says } from "./agent.mjs";

/** What is wrong. */
export async function hooks({ Agent, HookRefusal, StepwellError }) {
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`hooks: ${what}`);
  const agent = (bodies, hooks) => {
    const requests = [];
    const fetch = async (_, { body }) => {
      requests.push(JSON.parse(body).messages);
      return answer(bodies.shift());
    };
    const work = { name: "work", description: "Works.", execute: ({ to }) => `for ${to}` };
    return { requests, agent: new Agent({ model, fetch, tools: [work], hooks }) };
  };
  {
    const said = [];
    const redact = {
      name: "redact",
      beforeRequest: async ({ messages }) => ({ messages: messages.map((each) => (each.role === "user" ? { ...each, content: "***" } : each)) }),
      beforeTool: () => ({ to: "Ada" }),
      afterTool: ({ content }) => content.replace("Ada", "Bob"),
      afterAnswer: ({ text }) => void said.push(text),
    };
    const { agent: one, requests } = agent([calls("work", '{"to":"Eve"}'), says("Yes.")], [redact]);
    const { text, messages } = await one.run("A secret");
    check("it goes on", text === "Yes." && said.join() === "Yes." && messages[0].content === "A secret");
    check("a request is changed", requests[0][0].content === "***");
    check("a call and its result are changed", requests[1].at(-1).content === "for Bob");
  }
  {
    const guard = {
      name: "guard",
      beforeTool: () => {
        throw new HookRefusal("not from here");
      },
      afterAnswer: () => Promise.reject(new HookRefusal("it tells the secret")),
    };
    const { agent: one, requests } = agent([calls("work"), says("The secret.")], [guard]);
    const turn = one.stream("Hello");
    const refused = [];
    await (async () => {
      for await (const event of turn) if (event.type === "hookRefused") refused.push(event.reason);
    })().catch(() => {});
    check(`refusals are events: ${refused}`, refused.join() === "not from here,it tells the secret");
    const { kind, message } = await ended(turn);
    check(`and an error: ${message}`, kind === "refused" && message.includes("guard"));
    check("the model is told", requests[1].at(-1).content.includes("the call was not run: not from here"));
  }
  {
    const broken = { name: "broken", beforeRequest: () => Promise.reject(new Error("no such table")) };
    const { agent: one, requests } = agent([], [broken]);
    const failed = await one.run("Hello").catch((error) => error);
    check(`what throws: ${failed}`, failed instanceof StepwellError && failed.kind === "refused" && /broken.*no such table/.test(failed.message));
    check("nothing is sent", requests.length === 0);
    let twice;
    try {
      agent([], [broken, broken]);
    } catch (error) {
      twice = error;
    }
    check("two of one name", twice?.code === "configuration");
  }
  return wrong;
}
