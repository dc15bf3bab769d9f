import init, { Agent, tool } from "stepwell";
import { z } from "zod";

await init();
const getWeather = tool({
  name: "get_weather",
  description: "The weather in a city.",
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `rain in ${city}`,
});
const agent = new Agent({ model: "openai:gpt-5-mini", tools: [getWeather] });
const { text } = await agent.run("How is the weather in Bergen?");
console.log(text);
