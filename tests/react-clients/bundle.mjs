// Bundles the pages, and serves them.
import { build } from "esbuild";
import { createServer } from "node:http";
import { basename, join } from "node:path";
import { listen } from "./backend.mjs";

const TYPES = { ".js": "text/javascript", ".css": "text/css" };

const index = (name, styles) => `<!doctype html><meta charset="utf-8"><title>${name}</title>
${styles ? `<link rel="stylesheet" href="/${name}.css">` : ""}<div id="root"></div>
<script type="module" src="/${name}.js"></script>`;

/** Serves the pages with these names, and returns their origin. */
export async function servePages(names) {
  const { outputFiles } = await build({
    absWorkingDir: import.meta.dirname,
    entryPoints: names.map((name) => `pages/${name}.jsx`),
    outdir: "built",
    write: false,
    bundle: true,
    splitting: true,
    format: "esm",
    jsx: "automatic",
    loader: { ".woff": "empty", ".woff2": "empty", ".ttf": "empty" },
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "error",
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
  const server = createServer((request, response) => {
    const name = new URL(request.url, "http://localhost").pathname.slice(1);
    const file = files.get(name);
    if (file) {
      response.writeHead(200, { "content-type": TYPES[name.slice(name.lastIndexOf("."))] });
      response.end(file);
    } else if (names.includes(name)) {
      response.writeHead(200, { "content-type": "text/html" });
      response.end(index(name, files.has(`${name}.css`)));
    } else {
      response.writeHead(404).end();
    }
  });
  return `http://127.0.0.1:${await listen(server)}`;
}
