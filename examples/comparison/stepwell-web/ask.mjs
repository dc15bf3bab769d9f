import init, { Agent } from "stepwell";

await init();
const { text } = await new Agent({ model: "openai:gpt-5-mini" }).run("Where is Bergen?");
console.log(text);
