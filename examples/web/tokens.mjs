// A key that expires, and a run that differs from its agent: with a base URL as the argument.
import init, { Agent, openai } from "stepwell";

/** Stands for the app's own way to a token: from its cache, or a new one. */
const apiKey = async ({ rejected }) => (rejected ? "new" : "old");

await init();
const agent = new Agent({
  model: openai("gpt-4o-mini", { baseUrl: process.argv[2], apiKey }),
  instructions: "Answer in full sentences.",
});
const options = { instructions: "Answer in one word.", user: "user-7" };
const { text } = await agent.run("What is the capital of Norway?", options);
console.log(text);
