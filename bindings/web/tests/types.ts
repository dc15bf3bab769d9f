// That the types can be used as the README shows; compiled with `--strict`, not run.

import wasm from "../../../target/package/web/stepwell_bg.wasm";
import { IndexedDbStore } from "../../../target/package/web/indexed-db.js";
import { type ChatPart, ChatSession, useStepwellChat } from "../../../target/package/web/react.js";
import { play, type Played } from "../../../target/package/web/testing.js";
import { z } from "zod";
import init, { Agent, agUi, conversationOf, openai, RunMachine, RunRegistry, StepwellError, tool, type AssistantMessage, type DeepPartial, type Effect, type ErrorKind, type Message, type Output, type Outputs, type Pending, type PendingUpdate, type ReasoningUpdate, type Retrying, type RunConfig, type RunSource, type StandardSchema, type Store, type TextUpdate, type Tool, type ToolCallUpdate, type ToolContext, type ToolProgress, type Trimmer, type TurnResult, type Update } from "../../../target/package/web/index.js";

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
  const diary = new Agent({ model: agUi("/agent"), store, whenBusy: "cancel" }).conversation("diary");
  const { messages } = conversationOf(await store.turns(diary.key));
  try {
    await diary.send("Hello", { whenBusy: "queue" });
  } catch (error) {
    if (error instanceof StepwellError && error.kind === "busy") return [wasm.slice(1)];
    throw error;
  }
  return messages.map((message) => (message.role === "user" && typeof message.content === "string" ? message.content : message.role));
}

async function resumed(store: Store): Promise<string[]> {
  const agent = new Agent({ model: agUi("/agent"), store, waitForStore: true });
  const turns = [];
  for (const { turn, conversation, error } of await agent.recover()) {
    if (turn) turns.push((await turn.result).text);
    else console.error(conversation.id, error);
  }
  return turns;
}

async function handedOver(runSource: RunSource, stored: string): Promise<string> {
  const trimContext: Trimmer = async (overflow) => ({ keep: overflow.newest(0.5), summary: "It was long." });
  const registry = new RunRegistry(stored);
  const agent = new Agent({ model: agUi("/agent", { headers: { "x-team": "blue" } }), runSource, trimContext, registry });
  const turn = agent.conversation({ thread: "diary", room: "kitchen" }, { history: [] }).stream("Hello", { turnId: "turn-1" });
  const event = await registry.nextEvent();
  if (event.type === "runStarted") console.log(event.handle.key.thread, turn.stored?.generation, turn.storeTrouble?.code, turn.usage.inputTokens);
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

async function compacting(apiKey: string): Promise<string> {
  const agent = new Agent({
    model: openai("gpt-5", { apiKey }),
    compaction: {
      ways: [
        { type: "dropResults", keep: 5 },
        { type: "summary", model: { provider: "openai", model: "gpt-5-mini", key: apiKey } },
      ],
    },
  });
  const conversation = agent.conversation();
  const result = await conversation.send("Sure?", { wholeHistory: true });
  return result.text;
}

void compacting;
void ship;
void played;
void resumed;
void storedHere;
void handedOver;
void typed;
void deps;
void negative;
answer("Hello", console.log).catch((error: StepwellError) => console.error(error.kind, error.advice));

interface Trip {
  city: string;
  days: number;
  stops: { name: string }[];
}

async function typed(agent: Agent, trip: Output<Trip>, schema: StandardSchema<Trip>): Promise<number> {
  const turn = agent.stream("Where to?", { output: trip });
  const show = (partial: DeepPartial<Trip>) => console.log(partial.city?.length, partial.stops?.[0]?.name);
  for await (const partial of turn.partialOutputStream) show(partial);
  const { city, days } = (await turn.result).output;
  const { output } = await agent.run("And then?", { output: { name: "Trips", schema: { type: "array" }, parse: () => [{ city, days }] } });
  const conversation = agent.conversation();
  return output[0]!.days + (await conversation.send("At last?", { output: schema })).output.days;
}

const order = tool({
  name: "order",
  description: "Orders a parcel.",
  parameters: z.object({ parcel: z.string() }),
  execute: ({ parcel }, { deps }: ToolContext<{ user: string }>) => `${parcel} for ${deps.user}`,
});
const shop = new Agent({ model: "openai:gpt-5-mini", tools: [order], output: z.object({ city: z.string() }) });

async function deps(): Promise<string> {
  const { output } = await shop.run("My book, please", { deps: { user: "Ada" } });

  const result: TurnResult<{ city: string }> = await shop.conversation("ada").send("And now?", { deps: { user: "Ada" } });
  const plain: string = (await new Agent({ model: openai("gpt-5-mini", { baseUrl: undefined }), tools: [ship] }).run("Hello")).output;
  const calls = result.messages.filter((message): message is AssistantMessage => message.role === "assistant").flatMap(({ toolCalls = [] }) => toolCalls);
  return output.city + plain + calls[0]?.function.name;
}

/** What must not compile. */
async function negative(agent: Agent, message: Message): Promise<unknown[]> {
  const { output } = await shop.run("My book, please", { deps: { user: "Ada" } });
  const kind: ErrorKind = "busy";
  return [
    // @ts-expect-error The output has no such field.
    output.town,
    // @ts-expect-error The output of another run has its own type.
    (await shop.run("Where to?", { deps: { user: "Ada" }, output: z.object({ days: z.number() }) })).output.city,
    // @ts-expect-error Without a type it is text.
    (await agent.run("Hello")).output.city,
    // @ts-expect-error The tools need the run's `deps`.
    await shop.run("My book, please"),
    // @ts-expect-error They are of another type.
    await shop.run("My book, please", { deps: { user: 7 } }),
    // @ts-expect-error Those of a conversation too.
    shop.conversation("ada").stream("My book, please", { deps: {} }),
    // @ts-expect-error The arguments have no such field.
    tool({ name: "a", description: "A.", parameters: z.object({ parcel: z.string() }), execute: ({ packet }) => packet }),
    // @ts-expect-error The tools of one agent agree on `deps`.
    new Agent<string, { user: number }>({ model: "openai:gpt-5-mini", tools: [order] }),
    // @ts-expect-error A model has a provider.
    new Agent({ model: "gpt-5-mini" }),
    // @ts-expect-error An agent remembers nothing.
    agent.messages,
    // @ts-expect-error Not every message has calls.
    message.toolCalls,
    // @ts-expect-error There is no such kind.
    kind === "rate_limit",
    // @ts-expect-error There is no such option.
    await agent.run("Hello", { temprature: 0 }),
    // @ts-expect-error Only a conversation may be busy.
    await agent.run("Hello", { whenBusy: "cancel" }),
  ];
}

/** A chat knows the type of its answers, and what its tools need. */
async function chats(agent: Agent<{ city: string }, { user: string }>): Promise<string> {
  const chat = useStepwellChat(agent, { options: { deps: { user: "Ada" } } });
  const session: ChatSession<{ city: string }, { user: string }> = chat.session;
  const texts = chat.messages.flatMap(({ parts }) => parts.map((part: ChatPart) => (part.type === "tool" ? part.card.label : part.type)));
  if (chat.connection.state === "waitingToRetry") texts.push(chat.connection.reason);
  // @ts-expect-error There is no such status.
  if (chat.status === "busy") chat.cancel();
  // @ts-expect-error The tools need a user.
  await session.send("Hello", { deps: { name: "Ada" } });
  const result = await chat.send("Where to?");
  // @ts-expect-error The answer has no such field.
  result?.output.country;
  return result?.output.city ?? texts.join();
}

/** The updates of a turn, one case after the other: the end is none of them. */
export function line(update: Update): string {
  switch (update.type) {
    case "TEXT_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_CONTENT":
      return update.delta;
    case "toolCallUpdate":
      return `${update.name} ${update.status}`;
    case "toolProgress":
      return `${update.toolCallId} ${update.fraction ?? ""}`;
    case "pending":
      return update.pending.map(({ id }) => id).join();
    case "retrying":
      return update.reason;
    // @ts-expect-error The end of a turn is its result, or an error.
    case "completed":
      return "";
  }
  const other: Exclude<Update, TextUpdate | ReasoningUpdate | ToolCallUpdate | ToolProgress | PendingUpdate | Retrying> = update;
  return other.type;
}

/** Replies to what waits, of a conversation in any page. */
export async function replies(agent: Agent<string, { user: string }>): Promise<void> {
  const talk = agent.conversation("talk", { deps: { user: "Ada" }, whenBusy: "steer" });
  for (const { id, kind, arguments: given, deadline = Infinity } of await talk.pending()) {
    const isLate: boolean = deadline < Date.now();
    if (kind === "question") await talk.answer(id, "yes");
    else if (kind === "result") await talk.resolveCall(id, { status: "delivered" });
    else await (isLate ? talk.deny(id, "too late") : talk.approve(id, { ...given, checked: true }));
  }
  const turn = talk.stream("Hello", { deps: { user: "Ada" }, approver: null });
  const waits: readonly Pending[] = turn.pending;
  // @ts-expect-error There is no kind of this name.
  waits.some(({ kind }) => kind === "interrupt");
  // @ts-expect-error The tools want a user.
  agent.conversation("talk", { deps: { user: 7 } });
}
