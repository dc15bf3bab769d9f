import { openai } from "@ai-sdk/openai";
import { streamText } from "ai";

const { textStream } = streamText({ model: openai.chat("gpt-5-mini"), prompt: "Where is Bergen?" });
for await (const text of textStream) process.stdout.write(text);
