// A typed answer, in Node: with the key in OPENAI_API_KEY, or with a base URL as the argument.
import init, { Agent, openai } from "stepwell";
import { z } from "zod";

await init();
const Trip = z.object({ city: z.string(), days: z.int().min(1).describe("At least one.") }).meta({ title: "Trip" });
const agent = new Agent({ model: openai("gpt-4o-mini", { baseUrl: process.argv[2] }), output: Trip });
const { output } = await agent.run("Three days in Norway: where?");
console.log(`${output.days} days in ${output.city}`);
