// The store of the package in a browser: a page that is closed in mid-answer and the next one, and two pages on one thread.

const prepare = async () => {
  const stepwell = await import("stepwell");
  await stepwell.default();
  const { IndexedDbStore } = await import("stepwell/indexed-db");
  const { storeContract } = await import("/tests/store_contract.mjs");
  const store = await IndexedDbStore.open("app");
  const model = stepwell.openaiCompatible("model", { baseUrl: "http://localhost/v1" });
  const agent = (fetch) => new stepwell.Agent({ model, store, fetch });
  const diary = (fetch) => agent(fetch).conversation("diary");
  /** Says this and then nothing, until the request is aborted. */
  const stalling = (content) => async (_, { signal }) => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`));
        signal.addEventListener("abort", () => controller.error(signal.reason));
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  const says = (content) => async () => {
    const body = `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`;
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  globalThis.app = { stepwell, store, agent, diary, stalling, says, contract: () => storeContract(store, stepwell) };
};

/** What is wrong. */
export async function indexedDb(browser, address) {
  const wrong = [];
  const context = await browser.newContext();
  const opened = async () => {
    const page = await context.newPage();
    page.on("pageerror", (error) => wrong.push(`IndexedDB: ${error}`));
    await page.goto(address);
    await page.evaluate(prepare);
    return page;
  };
  const first = await opened();
  wrong.push(...(await first.evaluate(() => app.contract())));
  await first.evaluate(async () => {
    app.turn = app.diary(() => new Promise(() => {})).stream("Hello");
    await app.turn.begun;
  });
  const second = await opened();
  const whileItLives = await second.evaluate(async () => (await app.agent().recover()).length);
  if (whileItLives !== 0) wrong.push("IndexedDB: the turn of a page that lives is taken from it");
  await first.close();
  const [text, status, title] = await second.evaluate(async () => {
    const [{ owner }] = await app.store.unfinished();
    // Until the browser has let go of the page.
    await navigator.locks.request(`stepwell:${owner}`, () => {});
    const agent = app.agent(app.says("Hi."));
    const [{ key, turn }] = await agent.recover();
    const { text } = await turn.result;
    const { status } = await app.store.turn(key);
    const [{ title }] = await app.store.threads();
    return [text, status, title];
  });
  if (text !== "Hi." || status !== "complete" || title !== "Hello") wrong.push(`IndexedDB: what a closed page has left comes to ${text}, ${status}, ${title}`);
  const third = await opened();
  wrong.push(...(await twoTabs(second, third)), ...(await replies(second, third)));
  await context.close();
  console.log(`a store in IndexedDB, over the end of its page, ${wrong.length} wrong`);
  return wrong;
}

/** Two pages send on one thread: the later one is refused, or cancels the turn of the other, which is told and has stored what it had. */
async function twoTabs(first, second) {
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`two tabs: ${what}`);
  await first.evaluate(async () => {
    const turn = app.diary(app.stalling("Half an answer")).stream("One");
    app.events = [];
    const shown = new Promise((resolve) => {
      app.read = (async () => {
        for await (const event of turn) {
          app.events.push(event);
          if (event.type === "TEXT_MESSAGE_CONTENT") resolve();
        }
      })().catch(({ kind }) => (app.ended = kind));
    });
    await shown;
  });
  const refused = await second.evaluate(async () => app.diary(app.says("Two.")).send("Two").catch(({ kind }) => kind));
  check(`the later one is refused: ${refused}`, refused === "busy");
  const shown = await second.evaluate(async () => (await app.diary(app.says("")).load()).map(({ content }) => content));
  check(`what is stored can be shown: ${shown}`, shown.join() === "Hello,Hi.,One");
  check("the other goes on", await first.evaluate(() => app.ended === undefined));
  const { text, stored } = await second.evaluate(async () => {
    const { text } = await app.diary(app.says("Two.")).send("Two", { whenBusy: "cancel" });
    const turns = await app.store.turns({ thread: "diary" });
    const stored = turns.slice(-2).map(({ status, blocks }) => `${status}: ${blocks.map(({ block }) => block.content.text).join()}`);
    return { text, stored };
  });
  check(`the later one goes on: ${text}`, text === "Two.");
  check(`what the other had is stored: ${stored}`, stored.join() === "cancelled: Half an answer,complete: Two.");
  const told = await first.evaluate(async () => {
    await app.read;
    return [app.ended, app.events.some(({ type, message }) => type === "warning" && /another page/.test(message))];
  });
  check(`the other is told: ${told}`, told.join() === "cancelled,true");
  return wrong;
}

/** A page lists what another page's turn waits for, and replies to it there. */
async function replies(first, second) {
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`replies of another tab: ${what}`);
  await first.evaluate(async () => {
    const call = { index: 0, id: "call", function: { name: "pay", arguments: '{"sum":1}' } };
    const calls = `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [call] }, finish_reason: "tool_calls" }] })}\n\ndata: [DONE]\n\n`;
    const answers = [async () => new Response(calls, { headers: { "content-type": "text/event-stream" } }), app.says("Paid.")];
    const parameters = { type: "object", properties: { sum: { type: "integer" } } };
    const pay = { name: "pay", description: "Pays.", parameters, requiresApproval: true, execute: ({ sum }) => `paid ${sum}` };
    const fetch = (...request) => answers.shift()(...request);
    app.paying = new app.stepwell.Agent({ model: app.stepwell.openaiCompatible("model", { baseUrl: "http://localhost/v1" }), fetch, store: app.store, tools: [pay] }).conversation("bill").stream("Pay");
    await app.paying.rested();
  });
  const [listed, refused] = await second.evaluate(async () => {
    app.bill = app.agent(app.says("")).conversation("bill");
    const listed = await app.bill.pending();
    const refused = await app.bill.approve("call", { sum: "all" }).catch(({ kind, message }) => `${kind}: ${message}`);
    await app.bill.approve("call", { sum: 2 });
    return [listed.map(({ id, kind, tool }) => `${id} ${kind} ${tool}`), refused];
  });
  check(`it is listed: ${listed}`, listed.join() === "call approval pay");
  check(`what does not fit is refused there: ${refused}`, refused.startsWith("misuse: "));
  const [text, result] = await first.evaluate(async () => {
    const { text, messages } = await app.paying.result;
    return [text, messages.find(({ role }) => role === "tool").content];
  });
  check(`the turn goes on where it is: ${text}, ${result}`, text === "Paid." && result.includes("paid 2"));
  check("and waits for nothing", (await second.evaluate(async () => (await app.bill.pending()).length)) === 0);
  return wrong;
}
