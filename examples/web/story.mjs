// An answer that survives a broken connection, in Node: with the key in OPENAI_API_KEY, or with a base URL as the argument.
import init, { Agent, openai } from "stepwell";

await init();
const agent = new Agent({ model: openai("gpt-5", { baseUrl: process.argv[2], background: true }) });
const { text } = await agent.run("Write a long story about otters in space.");
console.log(text);
