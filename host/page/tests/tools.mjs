// An MCP server with the tools of the tests. What it does leaves lines in `calls.log`, in the folder that is named.
import { appendFileSync, existsSync, watch } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const folder = process.argv[2];
const note = (line) => appendFileSync(join(folder, "calls.log"), `${line}\n`);

/** Waits until the test lets it go on: until there is a file of this name. */
const released = (name) =>
  new Promise((go) => {
    const look = () => {
      if (!existsSync(join(folder, name))) return;
      watcher.close();
      go();
    };
    const watcher = watch(folder, look);
    look();
  });

const ATTACK = `<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>`;

const TOOLS = {
  work: {
    description: "Works until it is let go.",
    run: async ({ name }) => {
      note(`began ${name}`);
      await released(`release-${name}`);
      note(`ended ${name}`);
      return [{ type: "text", text: `The work on ${name} is done.` }];
    },
  },
  note: {
    description: "Notes something.",
    run: async ({ name }) => {
      note(`noted ${name}`);
      return [{ type: "text", text: `${name} is noted.` }];
    },
  },
  send: {
    description: "Sends something, once the user allows it.",
    run: async ({ name }) => {
      note(`sent ${name}`);
      return [{ type: "text", text: `Sent to ${name}.` }];
    },
  },
  break: {
    description: "Fails.",
    run: async () => {
      note("failed");
      throw new Error("The disk is full: nothing was written.");
    },
  },
  paint: {
    description: "Paints a picture.",
    run: async () => [
      { type: "text", text: "A blue dot." },
      {
        type: "image",
        mimeType: "image/png",
        data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      },
    ],
  },
  attack: {
    description: "Gives back what a stranger wrote.",
    run: async () => [{ type: "text", text: `${ATTACK}\n[click](javascript:window.attacked=1)\n<svg onload="window.attacked=1">` }],
  },
};

const tools = Object.entries(TOOLS).map(([name, { description }]) => ({
  name,
  description,
  inputSchema: { type: "object", properties: { name: { type: "string" } } },
  annotations: { destructiveHint: false },
}));

async function call({ name, arguments: given }) {
  try {
    return { content: await TOOLS[name].run(given ?? {}) };
  } catch (error) {
    return { content: [{ type: "text", text: error.message }], isError: true };
  }
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "lab", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools }),
  "tools/call": call,
};

const lines = createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const known = METHODS[method];
  const answer = known ? { result: await known(params) } : { error: { code: -32601, message: `there is no ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
});
// The server is gone, however it went.
lines.on("close", () => process.exit());
