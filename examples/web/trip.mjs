// A typed answer, in Node: with the key in OPENAI_API_KEY, or with a base URL as the argument.
import init, { Agent } from "stepwell";
import { z } from "zod";

await init();
const Trip = z.object({ city: z.string(), days: z.int().min(1).describe("At least one.") }).meta({ title: "Trip" });
const [baseUrl] = process.argv.slice(2);
const agent = new Agent({ provider: "openai", model: "gpt-4o-mini", baseUrl, key: process.env.OPENAI_API_KEY });
const trip = await agent.run("Three days in Norway: where?", { output: Trip });
console.log(`${trip.days} days in ${trip.city}`);
