// Turns that are otherwise than their agent, and keys and instructions that the page's code gives, under Node and in a page.

import { answer, calls, ended, model, says } from "./agent.mjs";
import { memoryStore } from "./memory_store.mjs";

/** What is wrong. */
export async function options(stepwell) {
  const { Agent, Deferred, StepwellError } = stepwell;
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`options: ${what}`);
  const agent = (answers, { apiKey, ...options } = {}) => {
    const requests = [];
    const fetch = async (_, { headers, body }) => {
      requests.push({ headers: new Map(headers), body: JSON.parse(body) });
      return answers.shift();
    };
    return { requests, agent: new Agent({ model: { ...model, apiKey }, fetch, ...options }).conversation("garden") };
  };
  const expired = () => answer(JSON.stringify({ error: { message: "Expired" } }), { status: 401 });
  const system = ({ body }) => body.messages[0].content;

  for (const store of [undefined, memoryStore(stepwell)]) {
    const work = { name: "work", description: "Works.", execute: () => "of the agent" };
    const own = { name: "own", description: "Of this turn.", execute: () => "of the turn" };
    const answers = [calls("own"), says("Yes."), says("Again.")].map((body) => answer(body));
    const { agent: one, requests } = agent(answers, { instructions: "Be kind.", tools: [work], store });
    const otherwise = { instructions: "Be brief.", settings: { temperature: 0 }, toolNames: [], tools: [own], user: "user-7", headers: { "x-trace": "abc" } };
    check("a turn is otherwise", (await one.send("Hello", otherwise)).text === "Yes.");
    check("the next one is not", (await one.send("And?")).text === "Again.");
    check("its instructions", requests.map(system).join() === "Be brief.,Be brief.,Be kind.");
    check("its user and header", requests[0].body.user === "user-7" && requests[0].headers.get("x-trace") === "abc" && !requests[2].headers.has("x-trace"));
    check("its tool", requests[1].body.messages.at(-1).content === "of the turn" && requests[0].body.tools.length === 1);
    const unknown = await one.send("Hello", { toolNames: ["wrok"] }).catch((error) => error);
    check(`a tool that there is not: ${unknown}`, /wrok/.test(String(unknown.message)));
  }
  {
    // A typed answer is of the turn, which has it when it comes back.
    const output = { name: "Count", schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } };
    const order = { name: "order", description: "Orders.", execute: () => Promise.reject(new Deferred()) };
    const answers = [says('{"n":1}'), says("Yes."), calls("order"), says('{"n":2}')].map((body) => answer(body));
    const { agent: one, requests } = agent(answers, { tools: [order], apiKey: () => "mine" });
    check("a turn's answer has a type", (await one.send("How many?", { output })).output?.n === 1);
    check("the next one's has none", (await one.send("And?")).output === "Yes.");
    const decoded = [];
    const counted = { ...output, parse: (value) => (decoded.push(value.n), value.n) };
    const turn = one.stream("How many now?", { output: counted });
    await turn.rested();
    const revived = one.revive(await turn.suspend(), { output: counted });
    await revived.begun;
    revived.resolveCall("call", "two");
    check("nor is it lost with the page", (await revived.result).output === 2 && decoded.includes(2));
    check("it has the agent's key", requests.every(({ headers }) => headers.get("authorization") === "Bearer mine"));
  }
  {
    const pay = { name: "pay", description: "Pays.", requiresApproval: true, execute: (_, { ask }) => ask("How much?").then(({ value }) => value) };
    const { agent: one, requests } = agent([calls("pay"), says("Paid."), calls("pay"), says("No.")].map((body) => answer(body)), { tools: [pay] });
    await one.send("Pay", { approver: () => true, answerer: () => "seven" });
    const turn = one.stream("Pay");
    while (turn.pending.length === 0) await new Promise(setImmediate);
    turn.deny(turn.pending[0].id, "not now");
    await turn.result;
    const told = requests.filter((_, at) => at % 2 === 1).map(({ body }) => body.messages.at(-1).content);
    check(`who is asked is of the run: ${told}`, told[0] === "seven" && /not now/.test(told[1]));
  }
  {
    // What becomes of the options afterwards is nothing to the agent.
    const work = { name: "work", description: "Works.", execute: () => 1 };
    const [tools, settings, headers] = [[work], { temperature: 0 }, { "x-team": "blue" }];
    const requests = [];
    const fetch = async (_, { headers, body }) => (requests.push({ headers: new Map(headers), body: JSON.parse(body) }), answer(says("Yes.")));
    const one = new Agent({ model: { ...model, headers }, tools, settings, fetch });
    tools.pop();
    settings.temperature = 1;
    headers["x-team"] = "red";
    await one.run("Hello");
    const [{ body, headers: sent }] = requests;
    check("an agent stays as it was made", body.tools.length === 1 && body.temperature === 0 && sent.get("x-team") === "blue");
  }
  {
    const asked = [];
    const credentials = async (request) => {
      asked.push(request);
      return request.rejected ? { key: "new", headers: { "x-team": "blue" } } : "old";
    };
    const { agent: one, requests } = agent([expired(), answer(says("Yes."))], { apiKey: credentials });
    check("a key is got anew", (await one.send("Hello")).text === "Yes.");
    check("it is sent", requests.map(({ headers }) => headers.get("authorization")).join() === "Bearer old,Bearer new" && requests[1].headers.get("x-team") === "blue");
    check("it is asked for by thread and turn", asked.length === 2 && asked[0].threadId === "garden" && asked[1].turn === asked[0].turn);
    const nobody = () => Promise.reject(new Error("nobody has signed in"));
    const failed = await agent([], { apiKey: nobody }).agent.send("Hello").catch((error) => error);
    check("without one the turn fails", failed instanceof StepwellError && failed.kind === "authentication" && /signed in/.test(failed.message));
  }
  for (const store of [undefined, memoryStore(stepwell)]) {
    const instructions = ({ messages, thread }, { deps }) => `${messages.length} in ${thread.thread}${deps ?? ""}.`;
    const answers = ["Yes.", "No.", "Well."].map((text) => answer(says(text)));
    const { agent: one, requests } = agent(answers, { instructions, store });
    await one.send("Hello");
    await one.send("And?", { deps: " of Eve" });
    await one.send("Well?", { instructions: "Be brief." });
    check("instructions are made for each turn", requests.map(system).join() === "0 in garden.,2 in garden of Eve.,Be brief.");
    const broken = () => Promise.reject(new Error("no profile"));
    const failed = await agent([], { instructions: broken, store }).agent.send("Hello").catch((error) => error);
    check(`or fail it: ${failed}`, failed instanceof StepwellError && failed.kind === "toolFailed" && /no profile/.test(failed.message));
    const never = agent([], { instructions: () => new Promise(() => {}), store }).agent.stream("Hello");
    never.cancel();
    check("a turn that waits for them can be stopped", (await ended(never)).kind === "cancelled");
  }
  return wrong;
}
