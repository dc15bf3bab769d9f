// Answers that the provider makes in the background: read on after a break, and cancelled when they are left.

import { answer, ended } from "./agent.mjs";

const response = (status, output = []) => ({ id: "resp_1", object: "response", model: "m", status, output });
const message = (text) => ({ type: "message", id: "m_1", role: "assistant", status: "completed", content: [{ type: "output_text", text, annotations: [] }] });
const events = [
  { type: "response.created", response: response("in_progress") },
  { type: "response.output_item.added", output_index: 0, item: { ...message(""), content: [] } },
  { type: "response.output_text.delta", item_id: "m_1", output_index: 0, content_index: 0, delta: "Here " },
  { type: "response.output_text.delta", item_id: "m_1", output_index: 0, content_index: 0, delta: "I am." },
  { type: "response.completed", response: response("completed", [message("Here I am.")]) },
].map((event, number) => `data: ${JSON.stringify({ ...event, sequence_number: number })}\n\n`);

/** What is wrong. */
export async function background({ Agent, openai }) {
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`background: ${what}`);
  /** An agent of a provider that gives these answers, and the requests that it is asked. */
  const agent = (answers) => {
    const asked = [];
    const fetch = async (url, { method, body, signal }) => {
      asked.push({ line: `${method} ${url}`, body });
      // A browser refuses such a request.
      if (method === "GET" && body !== null) throw new TypeError("Request with GET/HEAD method cannot have body");
      return answers.shift()?.(signal) ?? answer("{}");
    };
    const model = openai("m", { apiKey: "k", baseUrl: "http://localhost/v1", background: true });
    return { asked, agent: new Agent({ model, fetch, retry: { attempts: 2, firstDelayMs: 1 } }) };
  };
  const lines = (asked) => asked.map(({ line }) => line.replace("http://localhost/v1/responses", "")).join();

  {
    const { agent: one, asked } = agent([() => answer(events.slice(0, 3).join("")), () => answer(events.slice(3).join(""))]);
    const { text } = await one.run("Hello");
    check(`the text comes once: ${text}`, text === "Here I am.");
    check(`it is read on: ${lines(asked)}`, lines(asked) === "POST ,GET /resp_1?stream=true&starting_after=2");
    const { background, store } = JSON.parse(asked[0].body);
    check("the answer is made in the background", background === true && store === true);
  }
  {
    const open = (signal) => new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(events.slice(0, 3).join("")));
          signal.addEventListener("abort", () => controller.error(signal.reason));
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    );
    const { agent: one, asked } = agent([open]);
    const turn = one.stream("Hello");
    const reading = async () => {
      for await (const update of turn) if (update.type === "TEXT_MESSAGE_CONTENT") turn.cancel();
    };
    await reading().catch(() => {});
    await ended(turn);
    check(`the answer is cancelled at the provider: ${lines(asked)}`, lines(asked) === "POST ,POST /resp_1/cancel");
  }
  {
    const model = openai("m", { apiKey: "k", api: "chat", background: true });
    const failed = await ended({ result: new Promise((resolve) => resolve(new Agent({ model }).run("Hello"))) });
    check(`an API without it is refused: ${failed}`, /in the background/.test(String(failed)));
  }
  return wrong;
}
