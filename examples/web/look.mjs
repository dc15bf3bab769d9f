// A question about a picture, in Node: its path or address is the argument, and a second one another base URL.
import init, { Agent, image, openai } from "stepwell";

await init();
const [picture, baseUrl] = process.argv.slice(2);
const agent = new Agent({ model: openai("gpt-4o-mini", { baseUrl }) });
const { text } = await agent.run(["What is this?", await image(picture)]);
console.log(text);
