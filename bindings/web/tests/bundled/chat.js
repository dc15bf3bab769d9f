// One question, which the model answers by two calls of a tool, kept in the browser's database.

import { Agent, openaiCompatible } from "stepwell";
import { IndexedDbStore } from "stepwell/indexed-db";
import { load } from "./load.js";

export async function chat() {
  await load();
  const numbers = { alice: 42, bob: 7 };
  const secretNumber = {
    name: "get_secret_number",
    description: "The secret number of a person.",
    parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    execute: ({ name }) => numbers[name],
  };
  const store = await IndexedDbStore.open("chat");
  const agent = new Agent({ model: openaiCompatible("model", { baseUrl: "/v1" }), store, tools: [secretNumber] });
  return (await agent.conversation().send("What are their numbers?")).fullText;
}
