// Every version of the official AG-UI client takes what `stepwell serve` sends it: `node versions.mjs URL`. Those from
// before 1.0 declare no version, and refuse a whole run for one event that they do not know.
import { comeBack, play } from "./runs.mjs";

// Each, and what it cannot do: the ECMAScript module of the first does not find its own library for patches.
const VERSIONS = [
  ["ag-ui-client-0.0.47", { answers: false, patches: false }],
  ["ag-ui-client-0.0.53", { answers: false }],
  ["ag-ui-client-0.0.59", {}],
  ["@ag-ui/client", {}],
];

const url = process.argv[2];
for (const [version, able] of VERSIONS) {
  const { HttpAgent } = await import(version);
  const agentOf = (threadId) => new HttpAgent({ url, threadId });
  await play(version, agentOf, able);
  await comeBack(version, agentOf, url);
}
