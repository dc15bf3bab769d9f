// The package in Chromium: the same as under Node, in a page. `node browser.mjs PACKAGE CHROMIUM`.

import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { firstProgram } from "./first_program.mjs";
import { indexedDb } from "./indexed_db.mjs";
import { policy } from "./policy.mjs";
import { scenarios } from "./scenario_files.mjs";

const [folder, executablePath] = process.argv.slice(2);
const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };

const FOLDERS = { package: resolve(folder), tests: import.meta.dirname };
const PAGE = `<!doctype html><title>Stepwell</title>
<script type="importmap">{"imports":{"stepwell":"/package/index.js","stepwell/indexed-db":"/package/indexed-db.js"}}</script>`;

/** The package under `/package/`, the tests beside it, and an empty page. */
const server = createServer((request, response) => {
  const path = new URL(request.url, "http://localhost").pathname;
  const found = /^\/(package|tests)\/([\w.-]+)$/.exec(path);
  if (path === "/") {
    response.setHeader("content-type", "text/html");
    response.end(PAGE);
  } else if (path === "/scenarios.json") {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(scenarios));
  } else if (found) {
    const file = join(FOLDERS[found[1]], found[2]);
    response.setHeader("content-type", TYPES[extname(file)] ?? "application/octet-stream");
    response.end(readFileSync(file));
  } else {
    response.statusCode = 404;
    response.end();
  }
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let wrong;
try {
  const page = await browser.newPage();
  const address = `http://127.0.0.1:${server.address().port}/`;
  await page.goto(address);
  wrong = await page.evaluate(async () => {
    const stepwell = await import("/package/index.js");
    await stepwell.default();
    const { play } = await import("/package/testing.js");
    const { playAll } = await import("/tests/scenarios.mjs");
    const { programs } = await import("/tests/programs.mjs");
    const { members } = await import("/tests/members.mjs");
    const scenarios = await (await fetch("/scenarios.json")).json();
    return [...playAll(play, scenarios), ...programs(stepwell), ...(await members(stepwell))];
  });
  const { length } = Object.keys(scenarios);
  wrong.push(...(await firstProgram(browser, address)), ...(await indexedDb(browser, address)), ...(await policy(browser, address)));
  console.log(`${length} scenarios in Chromium ${browser.version()}, ${wrong.length} wrong`);
} finally {
  await browser.close();
  server.close();
}
for (const what of wrong) console.error(what);
process.exitCode = wrong.length === 0 ? 0 : 1;
