// How much JavaScript an app loads with an agent, before it needs a store.

import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

/** The most bytes, as gzip sends them, without what wasm-bindgen generates for the module. */
const MAX_BYTES = 15_500;

/** The chunks that are loaded at once, by what they are imported from. */
function loaded({ outputs }, entry, found = new Set()) {
  if (found.has(entry)) return found;
  found.add(entry);
  for (const { path, kind, external } of outputs[entry].imports) if (kind === "import-statement" && !external) loaded({ outputs }, path, found);
  return found;
}

async function bytes(resolveDir, external) {
  const stdin = { contents: 'export { default, Agent, openai, tool } from "stepwell";', resolveDir };
  const generated = { name: "generated", setup: (build) => external && build.onResolve({ filter: /\/stepwell\.js$/ }, ({ path }) => ({ path, external: true })) };
  const options = { bundle: true, minify: true, splitting: true, format: "esm", write: false, metafile: true, outdir: "out", absWorkingDir: resolveDir };
  const { outputFiles, metafile } = await esbuild.build({ stdin, ...options, conditions: ["browser"], plugins: [generated], loader: { ".wasm": "file" }, logLevel: "error" });
  const chunks = [...loaded(metafile, "out/stdin.js")].map((path) => outputFiles.find((file) => file.path.endsWith(path)));
  return chunks.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0);
}

/** What is wrong, in a folder where the package is installed. */
export async function size(folder) {
  const [own, whole] = [await bytes(folder, true), await bytes(folder, false)];
  console.log(`an agent's JavaScript has ${own} bytes as gzip sends it, ${whole} with what is generated for the module`);
  return own <= MAX_BYTES ? [] : [`an agent's JavaScript has ${own} bytes as gzip sends it, more than ${MAX_BYTES}`];
}
