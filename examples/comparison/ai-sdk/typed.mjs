import { openai } from "@ai-sdk/openai";
import { generateText, Output } from "ai";
import { z } from "zod";

const Trip = z.object({ city: z.string(), days: z.int() });
const model = openai.chat("gpt-5-mini");
const { output } = await generateText({ model, prompt: "Where to?", output: Output.object({ schema: Trip }) });
console.log(`${output.days} days in ${output.city}`);
