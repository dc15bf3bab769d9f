// What the tests share: a scripted model, a server of their own, and what must hold of a page at all times.
import AxeBuilder from "@axe-core/playwright";
import { test as base, expect, type BrowserContext, type Page } from "@playwright/test";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { SCRIPT } from "./script";

const program = (name: string): string => {
  const path = process.env[name];
  if (!path) throw new Error(`${name} names no program: run \`cargo xtask test page\``);
  return path;
};

/** The first line that a program prints. */
async function firstLine(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout! });
  const ended = once(child, "exit").then(() => {
    throw new Error("the program ended at once");
  });
  return (await Promise.race([once(lines, "line"), ended]))[0] as string;
}

/** The scripted model, as long as the tests run. */
class Model {
  private constructor(private readonly child: ChildProcess, readonly url: string) {}

  static async start(): Promise<Model> {
    const child = spawn(program("STEPWELL_MOCK_LLM"), ["-", "--piece-delay-ms", "1"], { stdio: ["pipe", "pipe", "inherit"] });
    child.stdin!.write(JSON.stringify(SCRIPT));
    const { base_url } = JSON.parse(await firstLine(child)) as { base_url: string };
    return new Model(child, base_url);
  }

  stop(): void {
    this.child.kill();
  }
}

/** `stepwell serve`, with a store and tools of its own. It can be killed and started again. */
export class Server {
  url = "";
  private child: ChildProcess | undefined;
  private address = "127.0.0.1:0";
  readonly folder = mkdtempSync(join(tmpdir(), "stepwell-page-"));

  /** @param model where the model is; none is the program's own scripted one */
  constructor(private readonly model: string | null) {}

  async start(more: string[] = [], environment: Record<string, string> = {}): Promise<void> {
    const servers = join(this.folder, "servers.json");
    const lab = { command: process.execPath, args: [join(import.meta.dirname, "tools.mjs"), this.folder] };
    writeFileSync(servers, JSON.stringify({ mcpServers: { lab } }));
    const own = Object.entries(process.env).filter(([name]) => !/^STEPWELL_|_proxy$/i.test(name));
    const store = more.includes("--store") ? [] : ["--store", `sqlite:${join(this.folder, "turns.db")}`];
    this.child = spawn(
      program("STEPWELL_PROGRAM"),
      [
        ...["serve", "--listen", this.address, ...store, ...more],
        ...(this.model === null ? [] : ["--provider", "openai-compatible", "--model", "m", "--base-url", this.model]),
        ...(this.model === null ? [] : ["--mcp-config", servers, "--ask-before", "lab__send", "--max-tool-rounds", "2"]),
      ],
      { stdio: ["ignore", "pipe", "inherit"], env: { ...Object.fromEntries(own), XDG_CONFIG_HOME: this.folder, ...environment } },
    );
    const line = await firstLine(this.child);
    const url = /http:\/\/[^/]+\//.exec(line)?.[0];
    if (!url) throw new Error(`the server says: ${line}`);
    this.url = url;
    this.address = new URL(url).host;
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    const child = this.child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Lets the tool `work` come to its end. */
  release(name = "one"): void {
    writeFileSync(join(this.folder, `release-${name}`), "");
  }

  /** What the tools did. */
  calls(): string[] {
    const log = join(this.folder, "calls.log");
    return existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
  }

  /** Waits until a tool has done this. */
  async called(line: string): Promise<void> {
    const watcher = watch(this.folder);
    try {
      while (!this.calls().includes(line)) await once(watcher, "change");
    } finally {
      watcher.close();
    }
  }
}

interface Fixtures {
  server: Server;
  /** Started with these arguments. */
  serverArguments: string[];
  serverEnvironment: Record<string, string>;
  /** Whether the program's own scripted model answers. */
  isDemo: boolean;
  chat: Chat;
}

export const test = base.extend<Fixtures, { model: Model }>({
  model: [
    async ({}, use) => {
      const model = await Model.start();
      await use(model);
      model.stop();
    },
    { scope: "worker" },
  ],
  serverArguments: [[], { option: true }],
  serverEnvironment: [{}, { option: true }],
  isDemo: [false, { option: true }],
  server: async ({ model, serverArguments, serverEnvironment, isDemo }, use) => {
    const server = new Server(isDemo ? null : model.url);
    await server.start(serverArguments, serverEnvironment);
    await use(server);
    await server.close();
  },
  chat: async ({ page, server }, use) => {
    const chat = new Chat(page);
    await page.goto(server.url);
    await use(chat);
    expect(chat.faults, "what the page did that it must not").toEqual([]);
  },
});

export { expect };

/** The page, as a user uses it. It writes down what it must never do. */
export class Chat {
  readonly faults: string[] = [];
  /** The server is meant to be away: that its requests fail is no fault. */
  mayFail = false;

  constructor(readonly page: Page) {
    page.on("console", (message) => {
      if (message.type() !== "error" && message.type() !== "warning") return;
      const isNetwork = message.text().startsWith("Failed to load resource");
      if (!(isNetwork && this.mayFail)) this.faults.push(`${message.type()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => void this.faults.push(String(error)));
    page.on("dialog", (dialog) => {
      this.faults.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (protocol !== "data:" && hostname !== "127.0.0.1") this.faults.push(`a request to ${request.url()}`);
    });
    page.on("popup", (popup) => void this.faults.push(`a window: ${popup.url()}`));
  }

  get field() {
    return this.page.getByRole("textbox", { name: "Message", exact: true });
  }

  get turns() {
    return this.page.locator(".turn");
  }

  get last() {
    return this.turns.last();
  }

  /** The cards of the tools. */
  tool(status?: string) {
    return this.page.locator(status ? `.tool[data-status="${status}"]` : ".tool");
  }

  button(name: string | RegExp) {
    return this.page.getByRole("button", { name, exact: true });
  }

  async say(text: string): Promise<void> {
    await this.field.fill(text);
    await this.field.press("Enter");
  }

  /** Waits until the turn is over, and shown as it is stored. */
  async over(): Promise<void> {
    await expect(this.button("Stop")).toHaveCount(0);
    await expect(this.last).toHaveAttribute("aria-busy", "false");
  }

  /** What there is to see, in words. */
  async words(): Promise<string> {
    return this.page.locator(".turns").innerText();
  }
}

const OUTPUT = process.env.STEPWELL_PAGE_OUTPUT ?? "test-results";
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const SIZES = { wide: { width: 1200, height: 800 }, phone: { width: 390, height: 844 } };

/** A picture of the page, for people: with STEPWELL_PAGE_SCREENSHOTS=1, since nothing compares it. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (process.env.STEPWELL_PAGE_SCREENSHOTS) {
    await page.screenshot({ path: join(OUTPUT, "screenshots", `${name}.png`) });
  }
}

/** Looks at a state in light and dark, on a wide screen and on a phone: no fault that shuts people out. */
export async function look(page: Page, name: string): Promise<void> {
  mkdirSync(OUTPUT, { recursive: true });
  appendFileSync(join(OUTPUT, "states"), `${name}\n`);
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const axe = new AxeBuilder({ page });
      // In the dark nothing is other than the colours.
      const { violations } = await (colorScheme === "light" ? axe.withTags(RULES) : axe.withRules(["color-contrast"])).analyze();
      const grave = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      const told = grave.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`);
      expect(told, `${name}, ${size}, ${colorScheme}`).toEqual([]);
      const [content, shown] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      expect(content, `${name}, ${size}: nothing is wider than the screen`).toBeLessThanOrEqual(shown!);
      await screenshot(page, `${name}-${size}-${colorScheme}`);
    }
  }
  await page.setViewportSize(SIZES.wide);
  await page.emulateMedia({ colorScheme: null });
}

/** Another tab of the same browser, or the first of another one. */
export async function anotherTab(context: BrowserContext, address: string): Promise<Chat> {
  const page = await context.newPage();
  const chat = new Chat(page);
  await page.goto(address);
  return chat;
}
