// The scenario files by name.

import { readFileSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";

const folder = resolve(import.meta.dirname, "../../../tests/scenarios");

export const scenarios = {};
for (const file of readdirSync(folder).sort()) {
  const name = basename(file, ".json");
  if (file.endsWith(".json") && name !== "schema") {
    scenarios[name] = JSON.parse(readFileSync(join(folder, file), "utf8"));
  }
}
