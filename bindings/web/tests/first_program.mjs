// The first program of README in a page.

import { cases, program } from "./first_program_cases.mjs";

const document_ = `<!doctype html><title>Stepwell</title>
<script type="importmap">{"imports":{"stepwell":"/package/index.js"}}</script>
<script type="module">${program}</script>`;

/** What is wrong. */
export async function firstProgram(browser, address) {
  const wrong = [];
  for (const [name, { answers, dialogs = [], passes, stops, shows, sends, sent }] of Object.entries(cases)) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const bodies = [];
    const said = [...dialogs];
    page.on("pageerror", (error) => wrong.push(`${name}: ${error}`));
    page.on("dialog", (dialog) => {
      const answer = said.shift();
      if (answer === false) return dialog.dismiss();
      return dialog.accept(typeof answer === "string" ? answer : undefined);
    });
    await page.route("**/first", (route) => route.fulfill({ contentType: "text/html", body: document_ }));
    const seen = answers.map(() => {
      let resolve;
      const promise = new Promise((resolved) => (resolve = resolved));
      return { promise, resolve };
    });
    await page.route("**/agent", async (route) => {
      const answer = answers[bodies.length];
      seen[bodies.length]?.resolve();
      bodies.push(route.request().postDataJSON());
      if (answer === undefined) wrong.push(`${name}: a request too many`);
      else if (answer.abort) await route.abort();
      else if (!answer.stalls) await route.fulfill({ contentType: "text/event-stream", ...answer });
    });
    if (passes) await page.clock.install();
    await page.goto(`${address}first`);
    if (passes || stops) {
      for (const request of seen) {
        await request.promise;
        // Two minutes of silence, and the pause before the next try.
        await (passes ? page.clock.runFor(130_000) : page.keyboard.press("Escape"));
      }
    }
    const shown = () => page.evaluate(() => document.body.textContent);
    try {
      await page.waitForFunction((wanted) => new RegExp(wanted, "i").test(document.body.textContent), shows.source);
    } catch {
      wrong.push(`${name}: the page shows ${JSON.stringify(await shown())}`);
    }
    if (sends && JSON.stringify(sends(bodies.at(-1))) !== JSON.stringify(sent)) {
      wrong.push(`${name}: the agent was sent ${JSON.stringify(sends(bodies.at(-1)))}`);
    }
    if (bodies.length !== answers.length) wrong.push(`${name}: ${bodies.length} requests`);
    await context.close();
  }
  console.log(`the first program in ${Object.keys(cases).length} cases, ${wrong.length} wrong`);
  return wrong;
}
