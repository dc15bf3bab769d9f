import { openai } from "@ai-sdk/openai";
import { generateText } from "ai";

const { text } = await generateText({ model: openai.chat("gpt-5-mini"), prompt: "Where is Bergen?" });
console.log(text);
