import init, { Agent } from "stepwell";

await init();
const turn = new Agent({ model: "openai:gpt-5-mini" }).stream("Where is Bergen?");
for await (const text of turn.textStream) process.stdout.write(text);
