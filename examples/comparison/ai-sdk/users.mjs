import { openai } from "@ai-sdk/openai";
import { generateText } from "ai";

const users = { ada: [], bob: [] };
async function send(name, content) {
  users[name].push({ role: "user", content });
  const { text, responseMessages } = await generateText({ model: openai.chat("gpt-5-mini"), messages: users[name] });
  users[name].push(...responseMessages);
  return text;
}
for (const name in users) await send(name, `I am ${name}.`);
for (const name in users) console.log(name, await send(name, "Who am I?"));
