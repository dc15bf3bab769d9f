import { openai } from "@ai-sdk/openai";
import { generateText, isStepCount, tool } from "ai";
import { z } from "zod";

const getWeather = tool({
  description: "The weather in a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `rain in ${city}`,
});
const { text } = await generateText({
  model: openai.chat("gpt-5-mini"),
  tools: { get_weather: getWeather },
  stopWhen: isStepCount(10),
  prompt: "How is the weather in Bergen?",
});
console.log(text);
