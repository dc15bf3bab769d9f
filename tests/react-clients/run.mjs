// The React clients against `stepwell serve`, in Chromium: `node run.mjs PROGRAM CHROMIUM [CLIENT...]`.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { startModel, startServer } from "./backend.mjs";
import { servePages } from "./bundle.mjs";
import { cases } from "./cases.mjs";
import { CLIENTS } from "./clients.mjs";

/** The longest wait for a condition and for a case, in milliseconds. They only end what would never end. */
const TIMEOUT = 30_000;
const CASE_TIMEOUT = 90_000;

const [program, executablePath, ...only] = process.argv.slice(2);
const names = only.length ? only : Object.keys(CLIENTS);
const origin = await servePages(names);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

/** Plays a case with its own browser context, server and model. Returns the reason why it failed. */
async function play(client, run) {
  const context = await browser.newContext();
  const foreign = [];
  await context.route((url) => url.hostname !== "127.0.0.1", (route) => {
    foreign.push(route.request().url());
    return route.abort();
  });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT);
  const log = [];
  page.on("console", (message) => log.push(message.text()));
  page.on("pageerror", (error) => log.push(error.stack));
  const model = await startModel();
  const servers = [];
  const serve = async (...args) => {
    servers.push(await startServer(program, model, origin, ...args));
    return servers.at(-1);
  };
  const deadline = AbortSignal.timeout(CASE_TIMEOUT);
  const late = new Promise((_, reject) => deadline.addEventListener("abort", () => reject(deadline.reason)));
  try {
    await Promise.race([run({ page, model, serve, deadline, address: `${origin}/${client}` }), late]);
    assert.deepEqual(foreign, [], "a client without telemetry asks the server alone");
  } catch (error) {
    return [error.stack, await page.locator("body").innerText().catch(() => ""), ...log].join("\n");
  } finally {
    await context.close();
    for (const { close } of [...servers, model]) close();
  }
}

let failed = 0;

async function playAll(client) {
  for (const [name, run] of Object.entries(cases(CLIENTS[client]))) {
    const reason = await play(client, run);
    console.log(`${client.padEnd(20)} ${name.padEnd(24)} ${reason ? "failed" : "passed"}`);
    if (reason) console.log(reason);
    failed += reason ? 1 : 0;
  }
}

await Promise.all(names.map(playAll));
await browser.close();
process.exit(failed ? 1 : 0);
