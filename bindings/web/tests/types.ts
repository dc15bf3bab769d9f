// That the types can be used as the README shows; compiled with `--strict`, not run.

import wasm from "../../../target/package/web/stepwell_bg.wasm";
import { IndexedDbStore } from "../../../target/package/web/indexed-db.js";
import { play, type Played } from "../../../target/package/web/testing.js";
import init, { Agent, conversationOf, RunMachine, RunRegistry, type DeepPartial, type Effect, type Output, type Outputs, type RunConfig, type RunSource, type StandardSchema, type StepwellError, type Store, type Tool, type Trimmer } from "../../../target/package/web/index.js";

async function answer(text: string, show: (piece: string) => void): Promise<string> {
  await init();
  const config: RunConfig = {
    provider: "ag-ui",
    baseUrl: "/agent",
    tools: [{ name: "time", description: "The time." }],
    timeouts: { silenceMs: null },
    limits: { repeats: { stopAfter: null } },
    device: { offlineMs: null },
    settings: { context: [{ description: "The page that is open", value: "Orders" }] },
    agUi: { encoding: "jsonFirst", isBefore10: true, keepsUnknown: true, verification: "lenient", extraRules: "off" },
  };
  const machine = new RunMachine(config, "thread-1");
  const carryOut = async (effect: Effect): Promise<Outputs[]> => {
    switch (effect.type) {
      case "openStream": {
        const { url, ...request } = effect.request;
        const response = await fetch(url, request);
        if (!response.ok) return [machine.refused(effect.id, response.status, new Uint8Array(await response.arrayBuffer()))];
        const outputs = [machine.opened(effect.id, response.headers.get("content-type") ?? undefined)];
        const reader = response.body!.getReader();
        for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
          outputs.push(machine.receive(effect.id, piece.value));
        }
        return [...outputs, machine.ended(effect.id)];
      }
      case "runTool":
        return [machine.toolFinished(effect.id, `${effect.invocation.name}: ${JSON.stringify(effect.invocation.arguments)}`)];
      default:
        return [];
    }
  };
  const waiting: Outputs[] = [machine.start({ runId: crypto.randomUUID(), text })];
  for (let outputs = waiting.shift(); outputs; outputs = waiting.shift()) {
    for (const event of outputs.events) if (event.type === "TEXT_MESSAGE_CONTENT") show(event.delta);
    for (const effect of outputs.effects) waiting.push(...(await carryOut(effect)));
  }
  const { outcome } = machine;
  return outcome?.outcome === "failed" ? outcome.message : machine.text;
}

async function storedHere(): Promise<string[]> {
  const store = await IndexedDbStore.open("my-app");
  const agent = new Agent({ provider: "ag-ui", baseUrl: "/agent", threadId: "diary", store, whenBusy: "cancel" });
  const { messages } = conversationOf(await store.turns(agent.threadKey));
  const { outcome } = await agent.send("Hello", { whenBusy: "fail" }).finish();
  if (outcome.outcome === "failed" && outcome.problem?.kind === "busy") return [wasm.slice(1)];
  return messages.map((message) => (message.role === "user" && typeof message.content === "string" ? message.content : message.role));
}

async function resumed(store: Store): Promise<string[]> {
  const agent = new Agent({ provider: "ag-ui", baseUrl: "/agent", store, waitForStore: true });
  const turns = [];
  for (const { turn, error } of await agent.recover()) {
    if (turn) turns.push((await turn.finish()).text);
    else console.error(error);
  }
  return turns;
}

async function handedOver(runSource: RunSource, stored: string): Promise<string> {
  const trimContext: Trimmer = async (overflow) => ({ keep: overflow.newest(0.5), summary: "It was long." });
  const agent = new Agent({ provider: "ag-ui", baseUrl: "/agent", runSource, trimContext, registry: new RunRegistry(stored) });
  const turn = agent.threadWithHistory({ thread: "diary", room: "kitchen" }, []).start({ runId: "turn-1", text: "Hello" });
  const event = await agent.nextRegistryEvent();
  if (event.type === "runStarted") console.log(event.handle.key.thread, turn.stored?.generation, turn.storeTrouble?.kind, turn.usage.inputTokens);
  return turn.suspend();
}

const ship: Tool = {
  name: "ship",
  description: "Ships a parcel.",
  parameters: { type: "object", properties: { parcel: { type: "string" } }, required: ["parcel"] },
  async execute({ parcel }: { parcel: string }, { report, ask }) {
    report(0.5, `${parcel} is packed`);
    const speed = await ask({ message: "How fast?", schema: { enum: ["today", "this week"] } });
    return speed.type === "given" ? `it leaves ${speed.value}` : "it waits";
  },
};

function played(scenario: string): string[] {
  const { scenario: written, unmet }: Played = play(JSON.parse(scenario), { restoreEvery: 10 });
  return unmet.length > 0 ? unmet : written.steps.map((step) => JSON.stringify(step));
}

void ship;
void played;
void resumed;
void storedHere;
void handedOver;
void typed;
answer("Hello", console.log).catch((error: StepwellError) => console.error(error.kind, error.advice));

interface Trip {
  city: string;
  days: number;
  stops: { name: string }[];
}

async function typed(agent: Agent, trip: Output<Trip>, schema: StandardSchema<Trip>): Promise<number> {
  const onPartial = (partial: DeepPartial<Trip>) => console.log(partial.city?.length, partial.stops?.[0]?.name);
  const { city, days } = await agent.run("Where to?", { output: trip, onPartial });
  const [first] = await agent.run("And then?", { output: { name: "Trips", schema: { type: "array" }, parse: () => [{ city, days }] } });
  return first!.days + (await agent.run("At last?", { output: schema })).days;
}
