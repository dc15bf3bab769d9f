// The package under Node: the scenario files, and a leg of the ring. `node node.mjs PACKAGE`.

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { agents, unloaded } from "./agent.mjs";
import { busy } from "./busy.mjs";
import { chats } from "./chat.mjs";
import { pendings } from "./pending.mjs";
import { device } from "./device.mjs";
import { durable } from "./durable.mjs";
import { firstProgramUnderNode } from "./first_program_node.mjs";
import { members } from "./members.mjs";
import { options } from "./options.mjs";
import { hello } from "./hello.mjs";
import { programs } from "./programs.mjs";
import { readers } from "./readers.mjs";
import { look } from "./look.mjs";
import { trip } from "./trip.mjs";
import { shared } from "./shared.mjs";
import { scenarios } from "./scenario_files.mjs";
import { playAll, restoreEvery } from "./scenarios.mjs";
import { background } from "./background.mjs";
import { compaction } from "./compaction.mjs";
import { fallback } from "./fallback.mjs";
import { hooks } from "./hooks.mjs";
import { approve, guard, tokens } from "./tokens.mjs";

const part = (name) => import(pathToFileURL(resolve(process.argv[2], name)));
const stepwell = await part("node.js");
const { play } = await part("testing.js");
const { ScenarioHost } = await part("scenario-host.js");
const beforeInit = unloaded(stepwell);
await stepwell.default();

/** Restores what another language stored, plays this one's part of the steps, and stores the runs for the next. */
function ring(place, [leg, legs]) {
  const wrong = [];
  let played = 0;
  for (const [name, scenario] of Object.entries(scenarios)) {
    const { steps } = scenario;
    if (steps.some((step) => step.input === "dispose")) continue;
    const host = new ScenarioHost(scenario, restoreEvery);
    if (leg > 1) {
      const stored = JSON.parse(readFileSync(join(place, `${name}.${leg - 1}.json`), "utf8"));
      host.now = stored.now;
      host.written = stored.written;
      for (const [run, snapshot] of Object.entries(stored.runs)) host.restore(run, snapshot);
    }
    const ours = steps.slice(Math.floor((steps.length * (leg - 1)) / legs), Math.floor((steps.length * leg) / legs));
    for (const step of ours) {
      if (!isDeepStrictEqual(host.step(step), step.gives)) wrong.push(`${name} at ${JSON.stringify(step)}`);
    }
    if (leg === legs && !isDeepStrictEqual(host.digests(), scenario.digests)) wrong.push(`${name}: the digests`);
    const runs = Object.fromEntries(Object.entries(host.runs).map(([run, machine]) => [run, machine.snapshot()]));
    writeFileSync(join(place, `${name}.${leg}.json`), JSON.stringify({ now: host.now, runs, written: host.written }));
    host.free();
    played += 1;
  }
  if (played < 50) wrong.push(`only ${played} went around`);
  return wrong;
}

const { STEPWELL_RING, STEPWELL_RING_LEG } = process.env;
const wrong = STEPWELL_RING
  ? ring(STEPWELL_RING, STEPWELL_RING_LEG.split("/").map(Number))
  : [...beforeInit, ...(await agents(stepwell)), ...(await members(stepwell)), ...(await chats(stepwell)), ...(await pendings(stepwell)), ...(await options(stepwell)), ...(await hooks(stepwell)), ...(await fallback(stepwell)), ...(await background(stepwell)), ...(await compaction(stepwell)), ...(await tokens(stepwell)), ...(await guard(stepwell)), ...(await approve(stepwell)), ...(await durable(stepwell)), ...(await busy(stepwell)), ...(await readers(stepwell)), ...(await shared(stepwell)), ...(await hello(stepwell)), ...(await device(stepwell)), ...playAll(play, scenarios), ...programs(stepwell), ...(await firstProgramUnderNode(stepwell)), ...(await trip(stepwell)), ...(await look(stepwell))];
for (const what of wrong) console.error(what);
console.log(`${Object.keys(scenarios).length} scenarios under Node ${process.version}, ${wrong.length} wrong`);
process.exitCode = wrong.length === 0 ? 0 : 1;
