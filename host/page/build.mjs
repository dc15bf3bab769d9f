// Builds the page into `dist`, or into the folder that is named. `dist` is checked in, so that the program needs no Node.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");
mkdirSync(out, { recursive: true });

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx", style: "src/style.css" },
  outdir: out,
  entryNames: "app",
  bundle: true,
  format: "esm",
  target: ["es2022", "chrome110", "firefox115", "safari16"],
  minify: true,
  legalComments: "none",
  charset: "utf8",
  metafile: true,
  logLevel: "warning",
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

// A file that has changed has another address.
let index = readFileSync(join(here, "src/index.html"), "utf8");
for (const name of ["app.js", "app.css", "icon.svg"]) {
  const digest = createHash("sha256").update(readFileSync(join(out, name))).digest("hex").slice(0, 12);
  index = index.replaceAll(`page/${name}`, `page/${name}?${digest}`);
}
writeFileSync(join(out, "index.html"), index);
