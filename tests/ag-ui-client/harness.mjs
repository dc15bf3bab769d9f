// What the scenarios share: the official client, and what it was told on the wire and by itself.
import { HttpAgent } from "@ag-ui/client";
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** A conversation of the official client with the server. */
export class Conversation {
  constructor(url, folder, name) {
    this.folder = folder;
    this.name = name;
    this.events = [];
    this.captures = [];
    this.agent = new HttpAgent({ url, threadId: `thread-${name}`, fetch: (...request) => this.fetch(...request) });
    this.agent.subscribe({ onEvent: ({ event }) => void this.events.push(event) });
  }

  /** Says something, and gives the events of the run. */
  async say(text, parameters = {}, subscriber = {}) {
    this.agent.addMessage({ id: `${this.name}-${this.agent.messages.length}`, role: "user", content: text });
    return this.run(parameters, subscriber);
  }

  /** Goes on without a word. */
  async run(parameters = {}, subscriber = {}) {
    this.events = [];
    this.failure = undefined;
    await this.agent.runAgent(parameters, { onRunFailed: ({ error }) => void (this.failure = error), ...subscriber });
    return this.events;
  }

  /** The server's answer goes to the client as it is, and into a file. */
  async fetch(url, init) {
    if (this.accept) init.headers.Accept = this.accept;
    const response = await fetch(url, init);
    this.contentType = response.headers.get("content-type");
    if (!response.ok || this.accept) return response;
    const [forClient, forFile] = response.body.tee();
    // A run that goes on from questions answers calls that another stream began.
    const kind = JSON.parse(init.body).resume ? "resumed.sse" : "sse";
    const text = new Response(forFile).text().catch(() => undefined);
    this.captures.push(text.then((text) => ({ kind, text })));
    return new Response(forClient, { status: response.status, headers: response.headers });
  }

  /** Writes the streams that came whole. */
  async save() {
    const streams = await Promise.all(this.captures);
    streams.forEach(({ kind, text }, index) => {
      if (text !== undefined) writeFileSync(join(this.folder, `${this.name}-${index}.${kind}`), text);
    });
    return streams.map(({ text }) => text);
  }

  finished() {
    const last = this.events.at(-1);
    assert.equal(last?.type, "RUN_FINISHED", JSON.stringify(last));
    return last;
  }

  kinds() {
    return this.events.map((event) => event.type);
  }

  text() {
    return this.agent.messages.filter((message) => message.role === "assistant").map((message) => message.content ?? "").join("");
  }

  /** The calls of the conversation that nobody has answered. */
  openCalls() {
    const answered = new Set(this.agent.messages.filter((message) => message.role === "tool").map((message) => message.toolCallId));
    const calls = this.agent.messages.flatMap((message) => message.toolCalls ?? []);
    return calls.filter((call) => !answered.has(call.id));
  }

  answer(call, content) {
    this.agent.addMessage({ id: `answer-${call.id}`, role: "tool", toolCallId: call.id, content });
  }

  result(name) {
    const calls = this.agent.messages.flatMap((message) => message.toolCalls ?? []);
    const call = calls.findLast((call) => call.function.name === name);
    return this.agent.messages.find((message) => message.role === "tool" && message.toolCallId === call?.id)?.content;
  }
}

/** Runs the scenarios one after the other, and prints a table. A warning of the client's is a failure. */
export async function play(scenarios, url, folder) {
  const rows = [];
  for (const [name, scenario] of Object.entries(scenarios)) {
    const warnings = [];
    console.warn = (...words) => void warnings.push(words.join(" "));
    // The client also says there what it then throws.
    console.error = () => {};
    const conversation = new Conversation(url, folder, name);
    let reason;
    try {
      await scenario(conversation);
      await conversation.save();
      assert.deepEqual(warnings, [], "the client warned");
    } catch (error) {
      reason = error;
    }
    rows.push([name, reason]);
    console.log(`${name.padEnd(24)} ${reason ? "failed" : "passed"}`);
    if (reason) console.log(reason.stack ?? reason);
  }
  const failed = rows.filter(([, reason]) => reason).length;
  console.log(`${rows.length - failed} of ${rows.length} scenarios passed`);
  return failed === 0;
}
