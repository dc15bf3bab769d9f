// The package as an app has it: packed, installed, used in a test of its own, and built by Vite, webpack and esbuild.
// `node bundlers.mjs PACKAGE FOLDER CHROMIUM MODEL`.

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync } from "node:fs";
import { createServer, request as forward } from "node:http";
import { extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import * as esbuild from "esbuild";
import { chromium } from "playwright-core";
import * as vite from "vite";
import webpack from "webpack";
import { size } from "./size.mjs";

const [folder, given, executablePath, model] = process.argv.slice(2);
const place = resolve(given);
const app = join(place, "app");
const built = join(place, "built");
const SAID = "Let me look those numbers up.\nAlice's number is 42, Bob's is 7";
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

/** The app with the package from its archive. */
function install() {
  rmSync(place, { recursive: true, force: true });
  cpSync(join(import.meta.dirname, "bundled"), app, { recursive: true });
  const npm = (...said) => execFileSync("npm", [...said, "--ignore-scripts", "--loglevel=error"], { cwd: app, encoding: "utf8" });
  const archive = npm("pack", resolve(folder), "--pack-destination", place).trim();
  npm("install", "--offline", "--no-audit", "--no-fund", join("..", archive));
}

const BUNDLERS = {
  Vite: (outDir) => vite.build({ root: app, base: "./", configFile: false, logLevel: "error", build: { outDir } }),
  webpack: async (path) => {
    const compiler = webpack({ context: app, entry: "./page.js", mode: "production", output: { path, filename: "page.js" } });
    const stats = await promisify(compiler.run.bind(compiler))();
    await promisify(compiler.close.bind(compiler))();
    if (stats.hasErrors()) throw new Error(stats.toString("errors-only"));
    cpSync(join(app, "index.html"), join(path, "index.html"));
  },
  esbuild: async (outdir) => {
    const load = { name: "load", setup: (build) => build.onResolve({ filter: /\/load\.js$/ }, () => ({ path: join(app, "load.esbuild.js") })) };
    const entryPoints = ["page.js", "worker.js"].map((name) => join(app, name));
    const options = { bundle: true, minify: true, format: "esm", loader: { ".wasm": "file" } };
    await esbuild.build({ entryPoints, outdir, ...options, plugins: [load], logLevel: "error" });
    cpSync(join(app, "index.html"), join(outdir, "index.html"));
  },
};

/** What was built, and the model behind the same address. */
const server = createServer((request, response) => {
  const path = new URL(request.url, "http://localhost").pathname;
  const file = join(built, path);
  if (path.startsWith("/v1/")) {
    const passed = forward(model.replace(/\/v1$/, path), { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    request.pipe(passed);
  } else if (TYPES[extname(file)] && existsSync(file)) {
    response.setHeader("content-type", TYPES[extname(file)]);
    response.end(readFileSync(file));
  } else {
    response.statusCode = 404;
    response.end();
  }
});

/** What the page of this address says. */
async function said(browser, address) {
  const page = await browser.newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("requestfailed", (request) => wrong.push(`${request.url()}: ${request.failure()?.errorText}`));
  await page.goto(address);
  await page.waitForFunction(() => document.title === "over").catch((error) => wrong.push(String(error)));
  const text = await page.textContent("body");
  await page.close();
  return [text, ...wrong].join("; ");
}

install();
const wrong = await size(app);
const test = spawnSync(process.execPath, ["--test", "scenario.test.js"], { cwd: app, encoding: "utf8" });
if (test.status !== 0) wrong.push(`the app's own test: ${test.stdout}${test.stderr}`);
const { render } = await import(pathToFileURL(join(app, "render.js")));
if (!/`await init\(\)`.*on a server that renders pages, where the page runs/.test(render()?.advice)) {
  wrong.push(`a server that renders pages is told: ${render()}; ${render()?.advice}`);
}
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const address = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const development = await vite.createServer({
  root: app,
  configFile: false,
  logLevel: "error",
  server: { host: "127.0.0.1", port: 0, proxy: { "/v1": address } },
});
try {
  const pages = {};
  for (const [name, build] of Object.entries(BUNDLERS)) {
    await build(join(built, name));
    pages[name] = `${address}/${name}/index.html`;
  }
  await development.listen();
  pages["Vite's server for development"] = development.resolvedUrls.local[0];
  for (const [name, address] of Object.entries(pages)) {
    const text = await said(browser, address);
    if (text !== `${SAID}; ${SAID}`) wrong.push(`${name}: ${text}`);
  }
  console.log(`the page and a worker of Vite ${vite.version}, webpack ${webpack.version} and esbuild ${esbuild.version}, ${wrong.length} wrong`);
} finally {
  await development.close();
  await browser.close();
  server.close();
}
for (const what of wrong) console.error(what);
process.exitCode = wrong.length === 0 ? 0 : 1;
