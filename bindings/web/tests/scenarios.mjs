// How the package plays the scenario files, under Node and in the page that a browser opens.

const THOROUGH = globalThis.process?.env.STEPWELL_THOROUGH !== undefined;
/** Rust restores before each piece of a stream; this one before so many, unless it is thorough. */
export const restoreEvery = THOROUGH ? 1 : 13;

/** Plays all scenarios, by name: what is not as they say, and that a changed input shows. */
export function playAll(play, scenarios) {
  const wrong = [];
  const names = Object.keys(scenarios).sort();
  if (names.length < 60) wrong.push(`there are only ${names.length} scenarios`);
  for (const name of names) {
    for (const what of play(scenarios[name], { restoreEvery }).unmet) wrong.push(`${name}, ${what}`);
  }
  const first = JSON.stringify(scenarios[names[0]]);
  const { unmet } = play(JSON.parse(first.replaceAll('"Hello', '"Hallo')));
  if (!unmet.some((what) => what.startsWith("the digests"))) wrong.push(`${names[0]}: a changed input does not change the digest`);
  return [...wrong, ...expectations(play)];
}

/** What a scenario expects is met or named, each kind of it. */
function expectations(play) {
  const steps = [
    { input: "start", run_id: "run-1", say: "Hello" },
    { input: "new_run", run: "second" },
    { input: "cancel" },
  ];
  const config = { provider: "openai-compatible", model: "m", base_url: "http://localhost/v1" };
  const met = {
    state: "completed",
    outcome: "cancelled",
    text: "",
    history: ["user: Hello"],
    others: { second: { outcome: null, history: [] } },
    tools_run: [],
    requests: [{ method: "POST", body: { model: "m", tools: null } }],
    seen: ["completed: cancelled"],
  };
  const unmet = {
    state: "idle",
    outcome: "success",
    text: "Hi",
    history: [],
    others: { second: { outcome: "success", history: [] } },
    tools_run: ["run-1:tool"],
    requests: [{ method: "GET" }],
    seen: ["completed: cancelled", "completed: cancelled"],
  };
  const wrong = play({ config, steps, expect: met }).unmet;
  for (const [name, expected] of Object.entries(unmet)) {
    const { length } = play({ config, steps, expect: { [name]: expected } }).unmet;
    if (length !== 1) wrong.push(`${length} unmet expectations of \`${name}\` instead of one`);
  }
  const again = play(play({ config, steps }).scenario);
  return [...wrong, ...again.unmet];
}
