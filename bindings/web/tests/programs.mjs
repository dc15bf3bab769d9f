// What the scenarios do not show of the package: its errors, its memory, many turns at once.

const config = { provider: "openai-compatible", model: "model", baseUrl: "http://localhost/v1" };
const encoder = new TextEncoder();

function says(text) {
  const data = JSON.stringify({ choices: [{ delta: { content: text }, finish_reason: "stop" }] });
  return encoder.encode(`data: ${data}\n\ndata: [DONE]\n\n`);
}

function thrown(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}

function turn(stepwell, text) {
  const machine = new stepwell.RunMachine(config, "thread-1");
  const [{ id }] = machine.start({ runId: "run-1", text: "Hello" }).effects;
  machine.opened(id, "text/event-stream");
  machine.receive(id, says(text));
  machine.ended(id);
  return machine;
}

/** What is wrong. */
export function programs(stepwell) {
  const wrong = [];
  const check = (what, holds) => {
    if (!holds) wrong.push(what);
  };
  check("the version", /^\d+\.\d+\.\d+$/.test(stepwell.version()));

  const unknown = thrown(() => new stepwell.RunMachine({ provider: "nobody" }, "thread-1"));
  check("an unknown provider is an error", unknown?.code === "configuration" && unknown instanceof Error);
  const misspelled = thrown(() => new stepwell.RunMachine({ ...config, modle: "x" }, "thread-1"));
  check("a name that there is not is an error", misspelled?.message.includes("modle"));
  const circle = {};
  circle.circle = circle;
  check("what is no JSON is an error", thrown(() => new stepwell.RunMachine(circle, "t"))?.code === "invalidArgument");
  check("no snapshot is an error", thrown(() => stepwell.RunMachine.restore("{}", config))?.code === "snapshot");

  const machine = new stepwell.RunMachine(config, "thread-1");
  check("no effect's id is an error", thrown(() => machine.ended("stream"))?.code === "invalidArgument");
  check("a wrong call is an error with advice", thrown(() => machine.resume([]))?.advice.length > 0);
  check("and changes nothing", machine.state === "idle");
  machine.free();

  // Without a time it is the clock's.
  const clocked = new stepwell.RunMachine(config, "thread-1");
  const before = Date.now();
  const { wakeAtMs } = clocked.start({ runId: "run-1", text: "Hello" });
  check("the clock", wakeAtMs >= before + 120_000 && wakeAtMs <= Date.now() + 120_000);
  clocked.free();

  // What is left out is the default, `undefined` too, and `null` is none.
  const wakes = (timeouts) => {
    const waiting = new stepwell.RunMachine({ ...config, timeouts }, "thread-1");
    const { wakeAtMs } = waiting.start({ runId: "run-1", text: "Hello" }, 1000);
    waiting.free();
    return wakeAtMs;
  };
  check("a time that is left out", wakes({}) === 121_000 && wakes({ silenceMs: undefined }) === 121_000);
  check("no time limit", wakes({ silenceMs: null }) === undefined);
  const offline = (device) => {
    const alone = new stepwell.RunMachine({ ...config, device }, "thread-1");
    const [{ id }] = alone.start({ runId: "run-1", text: "Hello" }, 1000).effects;
    alone.networkLost(1000);
    alone.connectionFailed(id, "no route to host", 1000);
    const { state } = alone;
    alone.free();
    return state;
  };
  check("a network is waited for", offline({}) === "waiting" && offline({ offlineMs: undefined }) === "waiting");
  check("or not", offline({ offlineMs: null }) === "completed");
  const none = thrown(() => new stepwell.RunMachine({ ...config, retry: { attempts: null } }, "thread-1"));
  check("where there is no none, `null` is an error", none?.kind !== undefined);

  const many = Array.from({ length: 50 }, (_, index) => turn(stepwell, `answer ${index}`));
  check("50 turns at once", many.every((each, index) => each.text === `answer ${index}`));
  for (const each of many) each.free();

  const memory = () => stepwell.initSync().memory.buffer.byteLength;
  for (let index = 0; index < 100; index += 1) turn(stepwell, "warm").free();
  const held = memory();
  // The memory grows by pages of 64 KiB: the turns are so many that one of them would leave less than half a kilobyte.
  const turns = globalThis.process?.env.STEPWELL_THOROUGH ? 5000 : 200;
  for (let index = 0; index < turns; index += 1) turn(stepwell, "again").free();
  check(`${turns} turns took ${memory() - held} bytes more`, memory() === held);
  return wrong;
}
