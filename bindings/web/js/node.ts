// Node has no `fetch` for files: the module is read from the package.

// @ts-expect-error Node's own.
import { readFile } from "node:fs/promises";
import { init as load } from "./module.js";

export * from "./index.js";

/** Loads the module; see `init` of the browser's. */
const init: typeof load = async (from) =>
  load(from ?? { module_or_path: (await readFile(new URL("./stepwell_bg.wasm", import.meta.url))) as BufferSource });
export default init;
