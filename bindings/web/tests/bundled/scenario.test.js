import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import init from "stepwell";
import { play } from "stepwell/testing";

test("a lost connection is opened again", async () => {
  await init();
  const scenario = JSON.parse(await readFile("lost.json", "utf8"));
  assert.deepEqual(play(scenario).unmet, []);
});
