// A key that expires, and a turn that is otherwise than its agent: with a base URL as the argument.
import init, { Agent } from "stepwell";

/** Stands for the app's own way to a token: from its cache, or anew. */
const token = async ({ rejected }) => (rejected ? "new" : "old");

await init();
const agent = new Agent({
  provider: "openai",
  model: "gpt-4o-mini",
  baseUrl: process.argv[2],
  instructions: "Answer in full sentences.",
  credentials: token,
});
const options = { instructions: "Answer in one word.", user: "user-7" };
const { text } = await agent.sendAndWait("What is the capital of Norway?", options);
console.log(text);
