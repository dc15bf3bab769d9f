// A question about a picture, in Node: its path or address is the argument, and a second one another base URL.
import init, { Agent, image } from "stepwell";

await init();
const [picture, baseUrl] = process.argv.slice(2);
const agent = new Agent({ provider: "openai", model: "gpt-4o-mini", baseUrl, key: process.env.OPENAI_API_KEY });
const { text } = await agent.sendAndWait(["What is this?", await image(picture)]);
console.log(text);
