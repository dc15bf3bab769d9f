// Long conversations that are compacted before a request, by a model, by dropping old results, or by the page's code.

import { answer } from "./agent.mjs";
import { memoryStore } from "./memory_store.mjs";

/** An answer that has cost so many tokens. */
const says = (content) => `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: "stop" }], usage: { prompt_tokens: 500, completion_tokens: 10 } })}\n\ndata: [DONE]\n\n`;

/** What is wrong. */
export async function compaction({ Agent, StoreError }) {
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`compaction: ${what}`);
  const history = [0, 1, 2].map((each) => ({ id: `old-${each}`, role: "user", content: "x".repeat(2000) }));
  const at = (name) => ({ provider: "openai-compatible", [name === "large" ? "name" : "model"]: name, baseUrl: `http://localhost/${name}/v1` });
  /** A conversation, with what was sent to each model. */
  const conversation = (answers, options, of = { history }) => {
    const asked = [];
    const fetch = async (_, { body }) => {
      const { model, messages } = JSON.parse(body);
      asked.push({ model, text: JSON.stringify(messages) });
      return answer(says(answers.shift()));
    };
    const agent = new Agent({ model: at("large"), contextGuard: { window: 1600 }, fetch, ...options });
    return { asked, talk: agent.conversation("long", of) };
  };
  const models = (asked) => asked.map(({ model }) => model).join();
  const summary = { ways: [{ type: "summary", model: at("cheap"), instructions: "Count the x." }] };

  for (const store of [undefined, memoryStore({ StoreError })]) {
    const where = store ? "in a store" : "in memory";
    const { asked, talk } = conversation(["Many x.", "Yes.", "Still yes.", "All x.", "All of it."], { compaction: summary, store });
    const turn = talk.stream("And?");
    const trimmed = [];
    for await (const update of turn) if (update.type === "contextTrimmed") trimmed.push(update.compaction.summary);
    const { usage } = await turn.result;
    check(`${where} a cheap model summarises: ${models(asked)}`, models(asked) === "cheap,large" && trimmed.join() === "Many x.");
    check("as it is told", asked[0]?.text.includes("Count the x."));
    check("the request has the summary", asked[1]?.text.includes("Many x.") && !asked[1].text.includes("x".repeat(5000)));
    check(`the cost of the summary is the turn's: ${usage.inputTokens}`, usage.inputTokens === 1000);
    check("the history stays whole", talk.messages.length === 5);
    await talk.send("Sure?");
    check(`${where} the next turn begins from there: ${models(asked)}`, models(asked) === "cheap,large,large" && asked[2].text.includes("Many x."));
    await talk.send("Sure?", { wholeHistory: true });
    check(`${where} a turn may have the whole history: ${models(asked)}`, asked[3]?.model === "cheap" && !asked[3].text.includes("Many x.") && asked[4].text.includes("All x."));
    if (!store) continue;
    const again = conversation(["Yes."], { compaction: summary, store }, {});
    await again.talk.load();
    await again.talk.send("And now?");
    check(`another page begins from there: ${models(again.asked)}`, models(again.asked) === "large" && again.asked[0].text.includes("All x."));
  }
  {
    const trimContext = (overflow) => ({ keep: overflow.newest(0.2), summary: `${overflow.messages.length} of many x.` });
    const { asked, talk } = conversation(["Yes.", "Still yes."], { compaction: { ways: [{ type: "host" }] }, trimContext });
    await talk.send("And?");
    await talk.send("Sure?");
    check("the page's code chooses", asked.every(({ text }) => text.includes("4 of many x.")));
  }
  {
    const refused = (compaction) => {
      try {
        new Agent({ model: at("large"), compaction }).conversation("long", { history });
      } catch (error) {
        return error.code;
      }
      return undefined;
    };
    check("a share that is none is refused", refused({ at: 2, ways: [{ type: "dropResults", keep: 1 }] }) === "configuration");
    check("an agent writes no summaries", refused({ ways: [{ type: "summary", model: { provider: "ag-ui", baseUrl: "http://localhost/agent" } }] }) === "configuration");
  }
  return wrong;
}
