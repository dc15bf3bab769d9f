// One question, which the model answers by two calls of a tool.

import { Agent } from "stepwell";
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
  const agent = new Agent({
    provider: "openai-compatible",
    model: "model",
    baseUrl: new URL("/v1", location).href,
    tools: [secretNumber],
  });
  return (await agent.sendAndWait("What are their numbers?")).text;
}
