// The store of the examples in a browser: a page that is closed in mid-answer, and the next one.

const prepare = async () => {
  const stepwell = await import("stepwell");
  await stepwell.default();
  const { IndexedDbStore } = await import("/examples/indexed-db-store.js");
  const { storeContract } = await import("/tests/store_contract.mjs");
  const store = await IndexedDbStore.open("app");
  const agent = (fetch) =>
    new stepwell.Agent({ provider: "openai-compatible", model: "model", baseUrl: "http://localhost/v1", threadId: "diary", store, fetch });
  globalThis.app = { stepwell, store, agent, contract: () => storeContract(store, stepwell) };
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
    const turn = app.agent(() => new Promise(() => {})).send("Hello");
    await turn.begun;
  });
  const second = await opened();
  const whileItLives = await second.evaluate(async () => (await app.agent().recover()).length);
  if (whileItLives !== 0) wrong.push("IndexedDB: the turn of a page that lives is taken from it");
  await first.close();
  const [text, status, title] = await second.evaluate(async () => {
    const [{ owner }] = await app.store.unfinished();
    // Until the browser has let go of the page.
    await navigator.locks.request(`stepwell:${owner}`, () => {});
    const body = `data: ${JSON.stringify({ choices: [{ delta: { content: "Hi." }, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`;
    const agent = app.agent(async () => new Response(body, { headers: { "content-type": "text/event-stream" } }));
    const [{ key, turn }] = await agent.recover();
    const { text } = await turn.finish();
    const { status } = await app.store.turn(key);
    const [{ title }] = await app.store.threads();
    return [text, status, title];
  });
  if (text !== "Hi." || status !== "complete" || title !== "Hello") wrong.push(`IndexedDB: what a closed page has left comes to ${text}, ${status}, ${title}`);
  await context.close();
  console.log(`a store in IndexedDB, over the end of its page, ${wrong.length} wrong`);
  return wrong;
}
