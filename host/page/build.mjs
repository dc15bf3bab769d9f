// Builds the page into `dist`, or into the folder that is named. `dist` is checked in, so that the program needs no Node.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");
// Names change with what is in the files: none is to be left of an earlier build.
if (process.argv[2] === undefined) rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

/** The moves of a run, as the core's own page of them has them; a test of the core holds that page to its code. */
const statechart = {
  name: "statechart",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^stepwell:statechart$/ }, () => ({ path: "statechart", namespace: "stepwell" }));
    onLoad({ filter: /.*/, namespace: "stepwell" }, () => {
      const page = readFileSync(join(here, "../../core/docs/statechart.md"), "utf8");
      const contents = /```json\n([^]+?)```/.exec(page)?.[1];
      if (contents === undefined) throw new Error("core/docs/statechart.md has no statechart as JSON");
      return { contents, loader: "json" };
    });
  },
};

const SHARED = {
  absWorkingDir: here,
  outdir: out,
  bundle: true,
  target: ["es2022", "chrome110", "firefox115", "safari16"],
  minify: true,
  legalComments: "none",
  charset: "utf8",
  metafile: true,
  logLevel: "warning",
};

// Only what is loaded at start has a name that stays: the rest is named by what is in it.
await build({ ...SHARED, entryPoints: { app: "src/style.css", dark: "src/dark.css" } });
const styles = await build({ ...SHARED, entryPoints: { inspector: "src/inspector/inspector.css" }, entryNames: "[name]-[hash]" });
const { metafile } = await build({
  ...SHARED,
  entryPoints: { app: "src/main.tsx" },
  chunkNames: "[name]-[hash]",
  splitting: true,
  format: "esm",
  define: { INSPECTOR_STYLE: JSON.stringify(`page/${basename(Object.keys(styles.metafile.outputs)[0])}`) },
  plugins: [statechart],
});

// The licences of all that went in.
const packages = new Set();
for (const input of Object.keys(metafile.inputs)) {
  const name = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1];
  if (name) packages.add(name);
}
const notices = [...packages].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = ["LICENSE", "LICENSE.md", "LICENSE.txt", "license"];
  const text = files.map((file) => {
    try {
      return readFileSync(join(folder, file), "utf8");
    } catch {
      return undefined;
    }
  }).find((text) => text !== undefined);
  if (text === undefined) throw new Error(`${name} has no licence file`);
  return `${name} ${version} (${license})\n\n${text.replaceAll("\r\n", "\n").trim()}\n`;
});
const line = `\n${"-".repeat(80)}\n\n`;
writeFileSync(join(out, "licences.txt"), notices.join(line));
writeFileSync(join(out, "icon.svg"), readFileSync(join(here, "src/icon.svg")));

// What the entry imports is asked for with it, not after it.
const [entry] = Object.entries(metafile.outputs).filter(([path]) => basename(path) === "app.js");
const chunks = entry[1].imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => basename(path));
const preloads = chunks.map((name) => `<link rel="modulepreload" href="page/${name}">`);

// A file that has changed has another address.
let index = readFileSync(join(here, "src/index.html"), "utf8");
index = index.replace(/( *)<script /, (script, indent) => preloads.map((link) => `${indent}${link}\n`).join("") + script);
for (const name of ["app.js", "app.css", "dark.css", "icon.svg"]) {
  const digest = createHash("sha256").update(readFileSync(join(out, name))).digest("hex").slice(0, 12);
  index = index.replaceAll(`page/${name}`, `page/${name}?${digest}`);
}

// What the program brings with it.
const TYPES = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};
const files = readdirSync(out).sort().map((name) => {
  const type = TYPES[extname(name)];
  if (type === undefined) throw new Error(`${name} is of no known type`);
  return `    ("${name}", "${type}", include_str!("${name}")),\n`;
});
writeFileSync(join(out, "files.rs"), `&[\n${files.join("")}]\n`);
writeFileSync(join(out, "index.html"), index);
