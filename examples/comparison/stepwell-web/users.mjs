import init, { Agent } from "stepwell";

await init();
const agent = new Agent({ model: "openai:gpt-5-mini" });
const users = ["ada", "bob"].map((name) => agent.conversation(name));
for (const user of users) await user.send(`I am ${user.id}.`);
for (const user of users) console.log(user.id, (await user.send("Who am I?")).text);
