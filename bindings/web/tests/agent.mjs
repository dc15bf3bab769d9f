// The Agent under Node: a turn with tools, what goes wrong on the network, and stopping. By `fetch` and a clock of the test's.

const encoder = new TextEncoder();
export const config = { provider: "openai-compatible", model: "model", baseUrl: "http://localhost/v1" };
export const model = { provider: "openai-compatible", name: "model", baseUrl: "http://localhost/v1" };
const sse = (...chunks) => [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
export const says = (content) => sse({ choices: [{ delta: { content }, finish_reason: "stop" }] });
export const calls = (name, args = "{}") =>
  sse({ choices: [{ delta: { tool_calls: [{ index: 0, id: "call", function: { name, arguments: args } }] }, finish_reason: "tool_calls" }] });
export const answer = (body, init) => new Response(body, { headers: { "content-type": "text/event-stream" }, ...init });

/** The result of a turn, or its error. */
export const ended = (turn) => turn.result.catch((error) => error);

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
export async function agents({ Agent, Deferred, openai, Parts, RunMachine, RunRegistry, StepwellError, tool }) {
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`Agent: ${what}`);
  const agent = (answers, { history, sharedState, ...options } = {}) => {
    const requests = [];
    const fetch = async (url, { body, signal, redirect }) => {
      requests.push({ url, body: JSON.parse(body), redirect });
      const next = answers.shift();
      if (next === "stalls") return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      if (next instanceof Error) throw next;
      return next;
    };
    const one = new Agent({ model, fetch, clock: clock(), ...options });
    return { agent: one, talk: one.conversation({ history, sharedState }), requests };
  };

  {
    let journal = "";
    const add = { name: "add", description: "Adds.", parameters: { type: "object", properties: { a: { type: "number" } }, required: ["a"] }, execute: ({ a }) => ({ sum: a + 1 }) };
    const registry = new RunRegistry();
    const { agent: one, talk, requests } = agent([answer(calls("add", '{"a":1}')), answer(says("Two."))], { tools: [add], registry, journal: (_, lines) => (journal += lines) });
    const kinds = [];
    const turn = talk.stream("1 + 1?");
    for await (const event of turn) kinds.push(event.type);
    const { output, text, fullText, stopReason, hops, messages } = await turn.result;
    check("a turn is iterated to its end, which is no update", kinds.includes("toolCallUpdate") && !kinds.includes("completed") && stopReason === "success");
    check("its result", output === "Two." && text === "Two." && fullText === "Two." && hops === 2 && messages.length === 4);
    check("the tool's result goes back", requests[1]?.body.messages.at(-1).content === '{"sum":2}');
    check("the conversation is kept", talk.messages.at(-1)?.content === "Two.");
    check("a journal is written", journal.trimEnd().split("\n").length > 5);
    check("the thread is unread, and nothing runs", registry.unread(talk.id) && registry.running().length === 0);
    check("another thread is empty", one.conversation("other").messages.length === 0 && one.conversation(talk.id).messages.length > 0);
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
    const turn = one.stream("Where to?", { output: Trip });
    for await (const partial of turn.partialOutputStream) partials.push(JSON.stringify(partial));
    const { output: trip } = await turn.result;
    check("the answer is what the type makes of it", trip.city === "Bergen" && trip.isTrip);
    check("what streams is told", partials.at(-1) === bergen && partials.every((partial) => partial.startsWith("{")));
    check("what the type refuses goes back", JSON.stringify(requests[1].body.messages.at(-1)).includes("no trip (at days)"));
    check("the model is told of the type", JSON.stringify(requests[0].body).includes("A_trip"));
    const { output: sum } = await one.run("Numbers?", { output: { name: "Numbers", schema: { type: "array", items: { type: "integer" } }, parse: (numbers) => numbers.length } });
    check("a JSON Schema does too", sum === 2);
    check("another turn is in words", (await one.run("Thank you")).output === "Thanks.");
    const { agent: typed } = agent([answer(says(bergen))], { output: Trip });
    check("an agent has a type too", (await typed.run("Where to?")).output.isTrip);
    const { agent: never, requests: none } = agent([]);
    const { "~standard": { jsonSchema: _, ...mute } } = Trip;
    const refused = await never.run("Where to?", { output: { "~standard": mute } }).catch((error) => error);
    check("a type without a schema is an error at once", /JSON Schema/.test(refused.message) && none.length === 0);
    const { agent: lost } = agent([answer(says("Bergen")), answer(says("Bergen!")), answer(says("I said: Bergen"))]);
    const failed = await lost.run("Where to?", { output: Trip }).catch((error) => error);
    check("what never fits is an error with the text", failed instanceof StepwellError && failed.kind === "outputInvalid" && failed.result.text.endsWith("I said: Bergen"));
    // A tool's arguments by such a type.
    const book = tool({ name: "book", description: "Books.", parameters: Trip, execute: ({ city, isTrip }) => `${city}: ${isTrip}` });
    const { agent: booking, requests: booked } = agent([answer(calls("book", '{"city":"Bergen","days":0}')), answer(calls("book", bergen)), answer(says("Booked."))], { tools: [book] });
    await booking.run("Book it");
    check("arguments have a type", booked[2].body.messages.at(-1).content === "Bergen: true" && JSON.stringify(booked[0].body.tools).includes("days"));
    check("what it refuses goes back", /no trip \(at days\)/.test(booked[1].body.messages.at(-1).content));
  }
  {
    const { agent: one } = agent([new TypeError("no route"), answer("busy", { status: 503 }), answer(says("Here."))]);
    check("it is tried again", (await one.run("Hello")).text === "Here.");
  }
  const failing = [
    ["a wrong key", answer('{"error":{"message":"wrong key"}}', { status: 401 }), "authentication", /wrong key/],
    ["a redirect", answer(null, { status: 302, headers: { location: "/" } }), undefined, /redirects to another address/],
    ["a compressed body", answer(new Uint8Array([0x1f, 0x8b, 8]), { headers: { "content-type": "text/event-stream", "content-encoding": "zstd" } }), undefined, /compressed/],
  ];
  for (const [what, response, kind, said] of failing) {
    const { agent: one } = agent([response], { retry: { attempts: 1 } });
    const error = await one.run("Hello").catch((error) => error);
    check(`${what}: ${error}`, error instanceof StepwellError && said.test(error.message) && (!kind || error.kind === kind));
    const { kind: same, provider, status, retryable, name } = error;
    check(`${what} has its place: ${status}`, same && provider === "openai-compatible" && retryable === (kind === undefined && /compressed/.test(error.message)) && (response.status === 200 || status === response.status) && name === "StepwellError");
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
    const turn = agent([answer(cut)]).agent.stream("Hello");
    const texts = [];
    const thrown = await (async () => {
      for await (const text of turn.textStream) texts.push(text);
    })().catch((error) => error);
    const error = await ended(turn);
    check("what was said before a break stands", error.result.text === "Half" && texts.join() === "Half" && /the line broke/.test(error.message));
    check("the loop throws it", thrown === error && error.kind === "connection" && error.result.stopReason === "failed");
  }
  {
    const stop = new AbortController();
    const { agent: one } = agent(["stalls"]);
    const run = one.run("Hello", { signal: stop.signal }).catch((error) => error);
    setImmediate(() => stop.abort());
    const { kind, name, result } = await run;
    check("a signal stops it", kind === "cancelled" && name === "AbortError" && result.stopReason === "cancelled");
    check("an aborted signal too", (await one.run("Hello", { signal: AbortSignal.abort() }).catch((error) => error)).kind === "cancelled");
  }
  {
    const { talk, requests } = agent(["stalls", answer(says("Second."))], { whenBusy: "cancel" });
    const first = talk.stream("First");
    // Its request goes out.
    await new Promise(setImmediate);
    const busy = await ended(talk.stream("I am Bob", { whenBusy: "error" }));
    check("two users of one conversation are not mixed", busy.kind === "busy" && busy.result === undefined && requests.length === 1);
    check("and who is refused is told what to do", busy.advice.includes("whenBusy"));
    const second = await talk.send("Second");
    check("what was refused is nowhere", !JSON.stringify([requests.at(-1).body, talk.messages]).includes("Bob"));
    check("who sends again may take the thread over", (await ended(first)).kind === "cancelled" && second.text === "Second.");
    check("and what was said before goes along", requests.at(-1).body.messages.map(({ content }) => content).includes("First"));
  }
  {
    let told;
    const waits = { name: "wait", description: "Waits.", execute: (_, { signal }) => new Promise(() => signal.addEventListener("abort", () => (told = true))) };
    const { agent: one } = agent([answer(calls("wait"))], { tools: [waits] });
    for await (const event of one.stream("Wait")) if (event.type === "toolCallUpdate" && event.status === "executing") break;
    check("leaving the loop cancels, and the tool is told", told === true);
  }
  {
    const later = { name: "order", description: "Orders.", execute: () => Promise.reject(new Deferred()) };
    const { talk, requests } = agent([answer(calls("order")), answer(says("It came."))], { tools: [later] });
    const turn = talk.stream("Order it");
    const snapshot = await turn.rested();
    turn.resolveCall("call", { status: "delivered" });
    check("a deferred result goes on with it", (await turn.result).text === "It came." && /delivered/.test(requests.at(-1).body.messages.at(-1).content));
    const { agent: later_ } = agent([answer(says("It came."))], { tools: [later] });
    const again = later_.conversation(talk.id);
    const revived = again.revive(snapshot);
    revived.resolveCall("call", "delivered");
    check("in a later page too", (await revived.result).text === "It came." && again.messages.at(-1).content === "It came.");
    check("in its own conversation", thrown(() => later_.conversation("other").revive(snapshot))?.kind === "misuse");
  }
  {
    const asks = { name: "pay", description: "Pays.", requiresApproval: true, execute: () => new Parts([{ type: "text", text: "paid" }]) };
    for (const [approver, expected] of [[undefined, /no way to ask/], [() => "not now", /not now/], [async () => true, /paid/], [() => Promise.reject(new Error()), /could not be asked/]]) {
      const { agent: one, requests } = agent([answer(calls("pay")), answer(says("Done."))], { tools: [asks], approver });
      await one.run("Pay");
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
    const program = new AsyncFunction("Agent", "openai", "process", "console", source.slice(source.indexOf("const getSecretNumber")));
    await program(Local, openai, { argv: ["node", "budget.mjs", "http://localhost/v1"], env: {} }, { log: (...words) => printed.push(words.join(" ")) });
    check(`a budget: ${printed}`, printed.join() === "Hi. It cost $0.000021: success");
    const unknown = thrown(() => new Agent({ model, limits: { maxCost: 1 } }));
    check("a limit of cost needs a price", unknown?.code === "configuration" && /no price/.test(unknown.message));
    new Agent({ model, limits: { maxCost: 1 }, price: { input: 1, output: 2 } });
  }
  for (const [call, said] of [
    [() => new Agent(), /made of options/],
    [() => new Agent({ model: 3 }), /^`model` names no provider and model/],
    [() => new Agent({ model, settings: { temprature: 0 } }), /^`settings.temprature` of the configuration: unknown field/],
    [() => new Agent({ model, tools: {} }), /`tools` is no array/],
    [() => new Agent({ model, tools: [{ name: "add" }] }), /^`tools\[0\]` has no code; .*`execute`/],
    [() => new Agent({ model, tools: [{ name: "add", execute() {} }] }), /^`tools\[0\]` of the configuration: missing field/],
    [() => new Agent({ model, approver: true }), /`approver` is no function/],
    [() => new Agent({ model, approve: () => true }), /^`approve` is a function, and no option/],
    [() => new Agent({ model, settings: { context: [{ description: "a", value: () => "b" }] } }), /^`settings.context\[0\].value` is a function/],
    [() => new Agent({ model }).stream("Hi", { approve: () => true }), /^`approve` is a function, and no option/],
    [() => new Agent({ model }).stream("Hi", { approver: true }), /^`approver` is no function/],
    [() => new Agent({ model, whenBusy: "wait" }), /^`whenBusy` is `wait`/],
    [() => new Agent({ model, hooks: {} }), /`hooks` is no array/],
    [() => new Agent({ model, hooks: [{ afterTool() {} }] }), /^`hooks\[0\]` has no name/],
    [() => new Agent({ model, hooks: [{ name: "guard", afterTool: true }] }), /^`afterTool` of `hooks\[0\]` is no function/],
    [() => new Agent({ model, hooks: [{ name: "guard", beforeReqest() {} }] }), /^`hooks\[0\]` looks at nothing; .*beforeRequest/],
    [() => new Agent({ model }).stream(), /of the type undefined/],
    [() => new Agent({ model }).stream(["What is this?", Promise.resolve()]), /a promise; `await`/],
    [() => new Agent({ model }).stream("Hi", { signal: new AbortController() }), /no `AbortSignal`/],
  ]) {
    const error = thrown(call);
    check(`a wrong argument is told: ${error}`, error?.kind === "misuse" && error.code === "invalidArgument" && said.test(`${error.message}; ${error.advice}`) && String(error).endsWith(error.advice));
  }
  const unknown = await new Agent({ model }).run("Hi", { temperature: 0 }).catch((error) => error);
  check(`so is an option of a turn: ${unknown}`, unknown.code === "invalidArgument" && /unknown field `temperature`/.test(unknown.message));
  check("a wrong configuration is an error at once", thrown(() => new Agent({ model: "nobody:nothing" }))?.code === "configuration");
  {
    // What the user said is in no error's text, and in nothing that a log prints of it.
    const { inspect } = await import("node:util");
    const secret = "the secret of the user ".repeat(20);
    const body = JSON.stringify({ error: { message: "wrong key" } });
    const history = [{ id: "m", role: "user", content: secret }];
    const failed = await agent([answer(body, { status: 401 })], { history }).talk.send(secret).catch((error) => error);
    check("a turn that failed has what was said", failed.result.messages[0].content === secret);
    const begun = [{ history: secret }, { history: [{ id: "m", role: secret }] }].map((options) => thrown(() => new Agent({ model }).conversation(options)));
    const errors = [failed, ...begun, thrown(() => new Agent({ model, limits: secret }))];
    for (const error of errors) {
      const printed = [error.message, String(error), inspect(error, { depth: 9 }), JSON.stringify(error)].join();
      check(`an error says nothing of it: ${error}`, error instanceof Error && !printed.includes("secret") && error.message.length < 600);
    }
  }
  {
    // Those that the types name are those that the library knows.
    const { readFileSync } = await import("node:fs");
    const source = readFileSync(new URL("../js/model.ts", import.meta.url), "utf8");
    const names = [.../type KnownProvider =([^;]*)/.exec(source)[1].matchAll(/"([^"]+)"/g)].map(([, name]) => name);
    // The model of a cloud has an address of the app's own, and so its key comes from the app.
    const isOfCloud = (line) => /^(azure|bedrock|vertex) /.test(line);
    const variables = names.map((name) => `${name} ${name.toUpperCase().replaceAll("-", "_")}_API_KEY`).filter((line) => !isOfCloud(line));
    const table = readFileSync(new URL("../../../core/llm/src/provider/table.rs", import.meta.url), "utf8");
    const known = [...table.matchAll(/provider\(\s*"([a-z-]+)",\s*(?:\/\/.*\s*)?"(\w+)"/g)].map(([, name, variable]) => `${name} ${variable}`).filter((line) => !isOfCloud(line));
    check(`the types name the providers that there are: ${variables}; ${known}`, known.length > 10 && variables.sort().join() === known.sort().join());
  }
  {
    const keys = [];
    const fetch = async (_, { headers }) => (keys.push(new Map(headers).get("authorization")), answer(says("Hi.")));
    process.env.OPENAI_API_KEY = "of the server";
    const asked = (model, options) => new Agent({ model, fetch }).run("Hello", options);
    await asked("openai:gpt-5-mini");
    await asked(openai("gpt-5-mini", { apiKey: "own" }));
    await asked(openai("gpt-5-mini", { apiKey: () => "made" }));
    await asked(openai("gpt-5-mini", { baseUrl: "http://localhost/v1" }));
    await asked(model, { model: "openai:gpt-5-mini" });
    delete process.env.OPENAI_API_KEY;
    check(`a key is the server's, or its own: ${keys}`, keys.join() === "Bearer of the server,Bearer own,Bearer made,,Bearer of the server");
    const { agent: one, requests } = agent([answer(says("Hi.")), answer(says("Hi."))]);
    await one.run("Hello", { model: { ...model, name: "other" } });
    await one.run("Hello");
    check("a run has its own model", requests.map(({ body }) => body.model).join() === "other,model");
  }
  const machine = new RunMachine(config, "thread-1");
  for (const call of [() => machine.receive("open:0:0", "data: {}"), () => machine.refused("open:0:0", 400, "{}")]) {
    check("a text is no body", /no `Uint8Array`; .*TextEncoder/.test(thrown(call)?.toString()));
  }
  machine.free();
  {
    // As in a page; under Node there is nothing that an address could be relative to.
    const unfit = thrown(() => new Agent({ model: { ...model, baseUrl: "/api/proxy" } }));
    check(`a relative address under Node: ${unfit}`, unfit?.code === "configuration" && /base/i.test(unfit.advice));
    globalThis.location = new URL("https://app.example/chat/?a#b");
    const urls = [];
    const fetch = async (url) => (urls.push(url), answer(says("Hi.")));
    for (const baseUrl of ["/api/proxy", "proxy", "https://other.example/v1"]) await new Agent({ model: { ...model, baseUrl }, fetch }).run("Hello");
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
  for (const call of [() => new Agent({ model }), () => new RunMachine(config, "t"), () => RunMachine.restore("{}", config), () => new RunRegistry()]) {
    try {
      call();
      wrong.push("what is not loaded works");
    } catch (error) {
      if (!/await init\(\)/.test(error.advice)) wrong.push(`before init: ${error}`);
    }
  }
  return wrong;
}
