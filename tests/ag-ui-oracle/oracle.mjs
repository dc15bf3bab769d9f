// The official AG-UI client's verdict on sequences of events. Reads one JSON question a line, answers one a line:
//   {"events": [...]}   what becomes of a run that sends these; with `messages`, of one that begins with them
//   {"encode": event}   the event as a frame of the official binary encoding, in base64
//   {"decode": base64}  the event of such a frame
import { HttpAgent, parseProtoStream } from "@ag-ui/client";
import { EventEncoder } from "@ag-ui/encoder";
import { from, lastValueFrom, toArray } from "rxjs";
import { createInterface } from "node:readline";

const MEDIA_TYPE = "application/vnd.ag-ui.event+proto";

// The body of an answer, one event a chunk. The next chunk comes when all that the one before led to is done, since the
// client drops what it has not delivered yet when it meets an error.
function body(events) {
  const frames = events.map((event) => new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
  return new ReadableStream({
    async pull(controller) {
      await new Promise((done) => setImmediate(done));
      const frame = frames.shift();
      if (frame === undefined) controller.close();
      else controller.enqueue(frame);
    },
  });
}

async function judge({ events, messages = [] }) {
  const delivered = [];
  const headers = { "content-type": "text/event-stream" };
  const fetch = async () => new Response(body(events), { status: 200, headers });
  const agent = new HttpAgent({ url: "http://localhost/agent", threadId: "t", initialMessages: messages, fetch });
  const verdict = { ok: true, error: null };
  try {
    await agent.runAgent({ runId: "r" }, { onEvent: ({ event }) => void delivered.push(event.type) });
  } catch (error) {
    verdict.ok = false;
    verdict.error = String(error?.message ?? error);
  }
  return { ...verdict, delivered, messages: agent.messages, state: agent.state };
}

function encode(event) {
  const encoder = new EventEncoder({ accept: MEDIA_TYPE });
  return { bytes: Buffer.from(encoder.encodeBinary(event)).toString("base64") };
}

async function decode(bytes) {
  // Later, since the parser begins to read before it can be listened to.
  const data = new Uint8Array(Buffer.from(bytes, "base64"));
  const events = await lastValueFrom(parseProtoStream(from(Promise.resolve({ type: "data", data }))).pipe(toArray()));
  return { events };
}

async function answer(question) {
  try {
    if ("events" in question) return await judge(question);
    if ("encode" in question) return encode(question.encode);
    return await decode(question.decode);
  } catch (error) {
    return { failed: String(error?.message ?? error) };
  }
}

// What it has to say besides goes nowhere: standard output is for the answers.
for (const level of ["log", "info", "warn", "error", "debug"]) console[level] = () => {};

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === "") continue;
  process.stdout.write(JSON.stringify(await answer(JSON.parse(line))) + "\n");
}
