// What esbuild needs: the module's address, which its loader `file` gives.

import init from "stepwell";
import wasm from "stepwell/stepwell_bg.wasm";

export const load = () => init({ module_or_path: new URL(wasm, import.meta.url) });
