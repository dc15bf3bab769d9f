// Media under Node: the first program, `examples/web/look.mjs`, and what `image` and the like take and refuse.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { answer, calls, says } from "./agent.mjs";

const AsyncFunction = (async () => {}).constructor;
const whole = readFileSync(join(import.meta.dirname, "../../../examples/web/look.mjs"), "utf8");
const program = whole.slice(whole.indexOf("await init();") + "await init();".length);
const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const url = "data:image/png;base64,iVBORw0KGgo=";

/** What is wrong. */
export async function look(stepwell) {
  const { Agent, audio, document, file, image, openai } = stepwell;
  const wrong = [];
  const check = (what, isRight) => isRight || wrong.push(`media: ${what}`);
  const bodies = [];
  const answers = [];
  const { fetch } = globalThis;
  globalThis.fetch = async (_, { body }) => {
    bodies.push(JSON.parse(body));
    return answer(answers.shift() ?? says("A shark."));
  };
  const picture = join(tmpdir(), `stepwell-look-${process.pid}.png`);
  writeFileSync(picture, png);
  const printed = [];
  const given = { argv: ["node", "look.mjs", picture, "http://localhost/v1"], env: {} };
  await new AsyncFunction("Agent", "image", "openai", "process", "console", program)(Agent, image, openai, given, { log: (line) => printed.push(line) });
  check(`look.mjs prints ${printed}`, printed.join() === "A shark.");
  const shown = [{ type: "text", text: "What is this?" }, { type: "image_url", image_url: { url } }];
  check("the picture is sent behind the text", JSON.stringify(bodies[0].messages[0].content) === JSON.stringify(shown));

  answers.push(calls("draw"));
  const draw = { name: "draw", description: "Draws.", execute: () => image(png) };
  const agent = new Agent({ model: openai("gpt-4o-mini", { baseUrl: "http://localhost/v1" }), tools: [draw] });
  await agent.run("Draw");
  check("a tool gives a picture", JSON.stringify(bodies.at(-1).messages).includes(url));

  for (const [source, type] of [[png.buffer, "image/png"], [new Blob([png], { type: "image/png" }), "image/png"], [new URL(`file://${picture}`), "image/png"], ["https://a/b.jpg", "image/jpeg"], [url, "image/png"]]) {
    check(`${source}`, (await image(source)).source.mimeType === type);
  }
  check("a file of a provider", file("file-1", { provider: "openai" }).source.value === "file-1");
  check("a text is a document", (await document(new TextEncoder().encode("Tea"))).source.mimeType === "text/plain");
  const refused = [[image, "no/such.png"], [image, new Uint8Array()], [image, "ftp://a/b.png"], [audio, png], [image, Uint8Array.from([1, 0, 255])]];
  for (const [make, source] of refused) {
    const error = await make(source).catch((error) => error);
    check(`${source} is refused: ${error}`, error.name === "StepwellError" && error.advice !== "");
  }
  rmSync(picture);
  globalThis.fetch = fetch;
  return wrong;
}
