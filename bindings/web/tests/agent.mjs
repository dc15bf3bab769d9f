// The Agent under Node: a turn with tools, what goes wrong on the network, and stopping. By `fetch` and a clock of the test's.

const encoder = new TextEncoder();
export const config = { provider: "openai-compatible", model: "model", baseUrl: "http://localhost/v1" };
const sse = (...chunks) => [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
export const says = (content) => sse({ choices: [{ delta: { content }, finish_reason: "stop" }] });
export const calls = (name, args = "{}") =>
  sse({ choices: [{ delta: { tool_calls: [{ index: 0, id: "call", function: { name, arguments: args } }] }, finish_reason: "tool_calls" }] });
export const answer = (body, init) => new Response(body, { headers: { "content-type": "text/event-stream" }, ...init });

/** A clock whose timers fire as soon as nothing else happens. */
export function clock() {
  let at = 1_000_000;
  return {
    now: () => at,
    setTimeout: (callback, ms) => {
      // What takes longer than any pause between tries is no pause.
      if (ms > 60_000) return undefined;
      return setImmediate(() => ((at += ms), callback()));
    },
    clearTimeout: (timer) => timer && clearImmediate(timer),
  };
}

function thrown(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** What is wrong. */
export async function agents({ Agent, Deferred, Parts, RunMachine, RunRegistry, TurnError }) {
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`Agent: ${what}`);
  const agent = (answers, options = {}) => {
    const requests = [];
    const fetch = async (url, { body, signal, redirect }) => {
      requests.push({ url, body: JSON.parse(body), redirect });
      const next = answers.shift();
      if (next === "stalls") return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      if (next instanceof Error) throw next;
      return next;
    };
    return { agent: new Agent({ ...config, fetch, clock: clock(), ...options }), requests };
  };

  {
    let journal = "";
    const tool = { name: "add", description: "Adds.", parameters: { type: "object", properties: { a: { type: "number" } }, required: ["a"] }, execute: ({ a }) => ({ sum: a + 1 }) };
    const { agent: one, requests } = agent([answer(calls("add", '{"a":1}')), answer(says("Two."))], { tools: [tool], journal: (_, lines) => (journal += lines) });
    const kinds = [];
    const turn = one.send("1 + 1?");
    for await (const event of turn) kinds.push(event.type);
    check("a turn is iterated to its end", kinds.at(-1) === "completed" && turn.outcome.outcome === "success");
    check("the tool's result goes back", requests[1]?.body.messages.at(-1).content === '{"sum":2}');
    check("the conversation is kept", one.messages.at(-1)?.content === "Two.");
    check("a journal is written", journal.trimEnd().split("\n").length > 5);
    check("the thread is unread, and nothing runs", one.registry.unread(one.threadId) && one.registry.running().length === 0);
    check("another thread is empty", one.thread("other").messages.length === 0 && one.thread(one.threadId).messages.length > 0);
    check("no redirect is followed", requests[0].redirect === "manual");
  }
  {
    // A type as schema libraries have it.
    const bergen = '{"city":"Bergen","days":3}';
    const Trip = {
      "~standard": {
        version: 1,
        vendor: "test",
        jsonSchema: { input: ({ target }) => ({ $schema: target, title: "A trip", type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city", "days"] }) },
        validate: (value) => (value.days > 0 ? { value: { ...value, isTrip: true } } : { issues: [{ message: "no trip", path: ["days"] }] }),
      },
    };
    const piece = (content) => sse({ choices: [{ delta: { content: content.slice(0, 12) } }] }, { choices: [{ delta: { content: content.slice(12) }, finish_reason: "stop" }] });
    const { agent: one, requests } = agent([answer(says('{"city":"Bergen","days":0}')), answer(piece(bergen)), answer(says("[1,2]")), answer(says("Thanks."))]);
    const partials = [];
    const trip = await one.run("Where to?", { output: Trip, onPartial: (partial) => partials.push(JSON.stringify(partial)) });
    check("the answer is what the type makes of it", trip.city === "Bergen" && trip.isTrip);
    check("what streams is told", partials.at(-1) === bergen && partials.every((partial) => partial.startsWith("{")));
    check("what the type refuses goes back", JSON.stringify(requests[1].body.messages.at(-1)).includes("no trip (at days)"));
    check("the model is told of the type", JSON.stringify(requests[0].body).includes("A_trip"));
    const sum = await one.run("Numbers?", { output: { name: "Numbers", schema: { type: "array", items: { type: "integer" } }, parse: (numbers) => numbers.length } });
    check("a JSON Schema does too", sum === 2);
    check("another turn is in words", (await one.sendAndWait("Thank you")).output === undefined);
    const { agent: never, requests: none } = agent([]);
    const { "~standard": { jsonSchema: _, ...mute } } = Trip;
    const refused = await never.run("Where to?", { output: { "~standard": mute } }).catch((error) => error);
    check("a type without a schema is an error at once", /JSON Schema/.test(refused.message) && none.length === 0);
    const { agent: lost } = agent([answer(says("Bergen")), answer(says("Bergen!")), answer(says("I said: Bergen"))]);
    const failed = await lost.run("Where to?", { output: Trip }).catch((error) => error);
    check("what never fits is an error with the text", failed instanceof TurnError && failed.problem.kind === "outputInvalid" && failed.finished.text.endsWith("I said: Bergen"));
  }
  {
    const { agent: one } = agent([new TypeError("no route"), answer("busy", { status: 503 }), answer(says("Here."))]);
    check("it is tried again", (await one.sendAndWait("Hello")).text === "Here.");
  }
  const failing = [
    ["a wrong key", answer('{"error":{"message":"wrong key"}}', { status: 401 }), "authentication", /wrong key/],
    ["a redirect", answer(null, { status: 302, headers: { location: "/" } }), undefined, /redirects to another address/],
    ["a compressed body", answer(new Uint8Array([0x1f, 0x8b, 8]), { headers: { "content-type": "text/event-stream", "content-encoding": "zstd" } }), undefined, /compressed/],
  ];
  for (const [what, response, kind, said] of failing) {
    const { agent: one } = agent([response], { retry: { attempts: 1 } });
    const error = await one.sendAndWait("Hello").catch((error) => error);
    check(`${what}: ${error}`, error instanceof TurnError && said.test(error.message) && (!kind || error.problem.kind === kind));
  }
  {
    const cut = new ReadableStream({
      start(controller) {
        controller.enqueue(encoder.encode('data: {"choices":[{"delta":{"content":"Half"}}]}\n\n'));
      },
      pull(controller) {
        controller.error(new Error("the line broke"));
      },
    });
    const finished = await agent([answer(cut)]).agent.send("Hello").finish();
    check("what was said before a break stands", finished.text === "Half" && /the line broke/.test(finished.outcome.message));
  }
  {
    const stop = new AbortController();
    const { agent: one } = agent(["stalls"]);
    const turn = one.send("Hello", { signal: stop.signal });
    setImmediate(() => stop.abort());
    check("a signal stops it", (await turn.finish()).outcome.outcome === "cancelled");
    check("an aborted signal too", (await one.send("Hello", { signal: AbortSignal.abort() }).finish()).outcome.outcome === "cancelled");
  }
  {
    const { agent: one, requests } = agent(["stalls", answer(says("Second."))], { whenBusy: "cancel" });
    const first = one.send("First");
    // Its request goes out.
    await new Promise(setImmediate);
    const busy = await one.send("I am Bob", { whenBusy: "fail" }).finish();
    check("two users of one agent are not mixed", busy.outcome.problem?.kind === "busy" && busy.messages.length === 0 && busy.text === "" && requests.length === 1);
    check("and who is refused is told what to do", busy.outcome.problem.advice.includes("agent.thread(id)"));
    const second = await one.send("Second").finish();
    check("what was refused is nowhere", !JSON.stringify([requests.at(-1).body, one.messages]).includes("Bob"));
    check("who sends again may take the thread over", (await first.finish()).outcome.outcome === "cancelled" && second.text === "Second.");
    check("and what was said before goes along", requests.at(-1).body.messages.map(({ content }) => content).includes("First"));
  }
  {
    let told;
    const waits = { name: "wait", description: "Waits.", execute: (_, { signal }) => new Promise(() => signal.addEventListener("abort", () => (told = true))) };
    const { agent: one } = agent([answer(calls("wait"))], { tools: [waits] });
    for await (const event of one.send("Wait")) if (event.type === "toolCallUpdate" && event.status === "executing") break;
    check("leaving the loop cancels, and the tool is told", told === true);
  }
  {
    const later = { name: "order", description: "Orders.", execute: () => Promise.reject(new Deferred()) };
    const { agent: one, requests } = agent([answer(calls("order")), answer(says("It came."))], { tools: [later] });
    const turn = one.send("Order it");
    const snapshot = await turn.rested();
    turn.finishCall("call", { status: "delivered" });
    check("a deferred result goes on with it", (await turn.finish()).text === "It came." && /delivered/.test(requests.at(-1).body.messages.at(-1).content));
    const { agent: later_ } = agent([answer(says("It came."))], { tools: [later] });
    const revived = later_.revive(snapshot);
    revived.finishCall("call", "delivered");
    check("in a later page too", (await revived.finish()).text === "It came.");
    check("on its own thread", later_.messages.length === 0 && later_.thread(one.threadId).messages.at(-1).content === "It came.");
  }
  {
    const asks = { name: "pay", description: "Pays.", requiresApproval: true, execute: () => new Parts([{ type: "text", text: "paid" }]) };
    for (const [approver, expected] of [[undefined, /no way to ask/], [() => "not now", /not now/], [async () => true, /paid/], [() => Promise.reject(new Error()), /could not be asked/]]) {
      const { agent: one, requests } = agent([answer(calls("pay")), answer(says("Done."))], { tools: [asks], approver });
      await one.send("Pay").finish();
      check(`an approval: ${expected}`, expected.test(JSON.stringify(requests.at(-1).body.messages.at(-1).content)));
    }
  }
  {
    // The program of the guide to budgets, with `fetch` in the place of OpenAI.
    const { readFileSync } = await import("node:fs");
    const source = readFileSync(new URL("../../../examples/web/budget.mjs", import.meta.url), "utf8");
    const usage = { prompt_tokens: 100, completion_tokens: 10 };
    const body = sse({ choices: [{ delta: { content: "Hi." }, finish_reason: "stop" }] }, { choices: [], usage });
    const printed = [];
    const Local = class extends Agent {
      constructor(options) {
        super({ ...options, fetch: async () => answer(body), clock: clock() });
      }
    };
    const AsyncFunction = (async () => {}).constructor;
    const program = new AsyncFunction("Agent", "process", "console", source.slice(source.indexOf("const getSecretNumber")));
    await program(Local, { argv: ["node", "budget.mjs", "http://localhost/v1"], env: {} }, { log: (...words) => printed.push(words.join(" ")) });
    check(`a budget: ${printed}`, printed.join() === "Hi. It cost $0.000021: success");
    const unknown = thrown(() => new Agent({ ...config, limits: { maxCost: 1 } }));
    check("a limit of cost needs a price", unknown?.kind === "configuration" && /no price/.test(unknown.message));
    new Agent({ ...config, limits: { maxCost: 1 }, price: { input: 1, output: 2 } });
  }
  for (const [call, said] of [
    [() => new Agent(), /made of options/],
    [() => new Agent({ ...config, model: 3 }), /^`model` of the configuration: invalid type/],
    [() => new Agent({ ...config, settings: { temprature: 0 } }), /^`settings.temprature` of the configuration: unknown field/],
    [() => new Agent({ ...config, tools: {} }), /`tools` is no array/],
    [() => new Agent({ ...config, tools: [{ name: "add" }] }), /^`tools\[0\]` has no code; .*`execute`/],
    [() => new Agent({ ...config, tools: [{ name: "add", execute() {} }] }), /^`tools\[0\]` of the configuration: missing field/],
    [() => new Agent({ ...config, approver: true }), /`approver` is no function/],
    [() => new Agent({ ...config, approve: () => true }), /^`approve` is a function, and no option/],
    [() => new Agent({ ...config, settings: { context: [{ description: "a", value: () => "b" }] } }), /^`settings.context\[0\].value` is a function/],
    [() => new Agent(config).send("Hi", { approver: () => true }), /^`approver` is a function, and no option/],
    [() => new Agent({ ...config, hooks: {} }), /`hooks` is no array/],
    [() => new Agent({ ...config, hooks: [{ afterTool() {} }] }), /^`hooks\[0\]` has no name/],
    [() => new Agent({ ...config, hooks: [{ name: "guard", afterTool: true }] }), /^`afterTool` of `hooks\[0\]` is no function/],
    [() => new Agent({ ...config, hooks: [{ name: "guard", beforeReqest() {} }] }), /^`hooks\[0\]` looks at nothing; .*beforeRequest/],
    [() => new Agent(config).send(), /of the type undefined/],
    [() => new Agent(config).send(["What is this?", Promise.resolve()]), /a promise; `await`/],
    [() => new Agent(config).send("Hi", { signal: new AbortController() }), /no `AbortSignal`/],
  ]) {
    const error = thrown(call);
    check(`a wrong argument is told: ${error}`, error?.kind === "invalidArgument" && said.test(error.message) && error.message === `${error.reason}; ${error.advice}`);
  }
  const unknown = await new Agent(config).sendAndWait("Hi", { temperature: 0 }).catch((error) => error);
  check(`so is an option of a turn: ${unknown}`, unknown.kind === "invalidArgument" && /unknown field `temperature`/.test(unknown.message));
  check("a wrong configuration is an error at once", thrown(() => new Agent({ provider: "nobody" }))?.kind === "configuration");
  {
    // What the user said is in no error's text, and in nothing that a log prints of it.
    const { inspect } = await import("node:util");
    const secret = "the secret of the user ".repeat(20);
    const body = JSON.stringify({ error: { message: "wrong key" } });
    const history = [{ id: "m", role: "user", content: secret }];
    const failed = await agent([answer(body, { status: 401 })], { history }).agent.sendAndWait(secret).catch((error) => error);
    check("a turn that failed has what was said", failed.finished.messages[0].content === secret);
    const errors = [failed, ...[{ history: secret }, { history: [{ id: "m", role: secret }] }, { limits: secret }].map((options) => thrown(() => new Agent({ ...config, ...options })))];
    for (const error of errors) {
      const printed = [error.message, String(error), inspect(error, { depth: 9 }), JSON.stringify(error)].join();
      check(`an error says nothing of it: ${error}`, error instanceof Error && !printed.includes("secret") && error.message.length < 600);
    }
  }
  {
    // Those that the types name are those that the library knows.
    const { readFileSync } = await import("node:fs");
    const types = readFileSync(new URL("../js/types.ts", import.meta.url), "utf8");
    const names = [.../type Provider =([^;]*)/.exec(types)[1].matchAll(/"([^"]+)"/g)].map(([, name]) => name);
    const known = /there are: ([^;]*);/.exec(thrown(() => new Agent({ provider: "nobody" })).message)[1].split(", ");
    check(`the types name the providers that there are: ${names}; ${known}`, names.sort().join() === known.sort().join());
  }
  const machine = new RunMachine(config, "thread-1");
  for (const call of [() => machine.receive("open:0:0", "data: {}"), () => machine.refused("open:0:0", 400, "{}")]) {
    check("a text is no body", /no `Uint8Array`; .*TextEncoder/.test(thrown(call)?.message));
  }
  machine.free();
  {
    // As in a page; under Node there is nothing that an address could be relative to.
    const unfit = thrown(() => new Agent({ ...config, baseUrl: "/api/proxy" }));
    check(`a relative address under Node: ${unfit}`, unfit?.kind === "configuration" && /base/i.test(unfit.advice));
    globalThis.location = new URL("https://app.example/chat/?a#b");
    const urls = [];
    const fetch = async (url) => (urls.push(url), answer(says("Hi.")));
    for (const baseUrl of ["/api/proxy", "proxy", "https://other.example/v1"]) await new Agent({ ...config, baseUrl, fetch }).sendAndWait("Hello");
    delete globalThis.location;
    const paths = ["https://app.example/api/proxy", "https://app.example/chat/proxy", "https://other.example/v1"];
    check(`a relative address is the page's: ${urls}`, urls.join() === paths.map((path) => `${path}/chat/completions`).join());
  }
  check("after `free` it says so", /free/.test(thrown(() => machine.state)?.message) && thrown(() => machine.cancel())?.kind === "misuse");
  const registry = new RunRegistry();
  registry.free();
  check("so does a registry", /free/.test(thrown(() => registry.running())?.message));
  return wrong;
}

/** Before the module is loaded, as where a server renders a page. */
export function unloaded({ Agent, RunMachine, RunRegistry }) {
  const wrong = [];
  for (const call of [() => new Agent(config), () => new RunMachine(config, "t"), () => RunMachine.restore("{}", config), () => new RunRegistry()]) {
    try {
      call();
      wrong.push("what is not loaded works");
    } catch (error) {
      if (!/await init\(\)/.test(error.advice)) wrong.push(`before init: ${error}`);
    }
  }
  return wrong;
}
