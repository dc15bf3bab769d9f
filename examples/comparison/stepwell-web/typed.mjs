import init, { Agent } from "stepwell";
import { z } from "zod";

await init();
const Trip = z.object({ city: z.string(), days: z.int() });
const { output } = await new Agent({ model: "openai:gpt-5-mini" }).run("Where to?", { output: Trip });
console.log(`${output.days} days in ${output.city}`);
