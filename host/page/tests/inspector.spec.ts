// The inspector: a turn from within, and a journal played back without a server.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Download, Page } from "@playwright/test";
import { expect, look, test } from "./harness";

const recorded = { serverArguments: [["--record", "full"], { scope: "test" }] } as const;

async function contents(download: Download): Promise<string> {
  return readFileSync(await download.path(), "utf8");
}

const panel = (page: Page) => page.getByRole("complementary", { name: "Inspector" });
const chart = (page: Page) => panel(page).getByRole("img");
const tab = (page: Page, name: string) => panel(page).getByRole("tab", { name });

/** Drops a file on the page, as a user would from a folder. */
async function drop(page: Page, name: string, text: string): Promise<void> {
  const transfer = await page.evaluateHandle(
    ([name, text]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text!], name!));
      return transfer;
    },
    [name, text],
  );
  await page.dispatchEvent("main", "dragover", { dataTransfer: transfer });
  await page.dispatchEvent("main", "drop", { dataTransfer: transfer });
}

const journalOf = (name: string): string => readFileSync(join(import.meta.dirname, "../../../core/tests/journals", name), "utf8");

/** What of the chart lies over something else, or is cut. */
function overlaps(chart: Element): string[] {
  const states = [...chart.querySelectorAll<SVGGElement>(".state")].map((state) => ({
    name: state.textContent ?? "",
    box: state.querySelector("rect")!.getBoundingClientRect(),
    text: state.querySelector("text")!.getBoundingClientRect(),
  }));
  const wrong = states.filter(({ box, text }) => text.left < box.left || text.right > box.right).map(({ name }) => `${name} is cut`);
  for (const [index, one] of states.entries()) {
    for (const other of states.slice(index + 1)) {
      const [a, b] = [one.box, other.box];
      if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) wrong.push(`${one.name} over ${other.name}`);
    }
  }
  return wrong;
}

test.describe("of a server that keeps journals", () => {
  test.use({ serverArguments: [...recorded.serverArguments] as never });

  test("a turn is looked into: its states, its hops, its events, its requests, its blocks", async ({ chat, page }) => {
    const asked: string[] = [];
    page.on("request", (request) => void asked.push(new URL(request.url()).pathname));
    await chat.say("sum");
    await chat.over();
    expect(asked.filter((path) => /inspector|panel/.test(path)), "nothing of it is loaded before it is opened").toEqual([]);
    await chat.last.getByRole("button", { name: "Inspect this turn" }).click();
    await expect(panel(page).getByRole("heading", { name: "Inspector" })).toBeFocused();
    await expect(chart(page)).toHaveAttribute("data-state", "completed");
    await expect(chart(page)).toHaveAttribute("aria-label", /Idle, Opening, Streaming, Executing tools, Opening, Streaming, Completed/);
    const hops = panel(page).getByRole("region", { name: "Hops" });
    await expect(hops.getByRole("row")).toHaveCount(4);
    await expect(hops.getByRole("row").nth(1)).toContainText("calculator");
    for (const width of [1200, 760, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await chart(page).evaluate(overlaps), `at ${width} pixels`).toEqual([]);
    }
    await look(page, "inspector-run");

    await tab(page, "Events").click();
    await expect(panel(page).getByText("TOOL_CALL_START")).toBeVisible();
    await panel(page).getByLabel("Filter the events").fill("TOOL_CALL_RESULT");
    await expect(panel(page).getByText(/^1 of [0-9]+ events/)).toBeVisible();
    await panel(page).locator(".fold summary").first().click();
    await expect(panel(page).getByRole("region", { name: "Data" })).toContainText('"type": "TOOL_CALL_RESULT"');
    await look(page, "inspector-events");

    await tab(page, "Requests").click();
    await expect(panel(page).locator(".fold summary")).toHaveCount(2);
    await panel(page).locator(".fold summary").last().click();
    await expect(panel(page).getByRole("region", { name: "Data" })).toContainText('"role": "tool"');
    await look(page, "inspector-requests");

    await tab(page, "Blocks").click();
    await expect(panel(page).locator(".rows .kind")).toContainText(["tool_use", "tool_result", "text"]);
    await look(page, "inspector-blocks");

    await tab(page, "Inputs").click();
    await panel(page).getByRole("button", { name: /^1 start/ }).click();
    await expect(panel(page).getByRole("slider")).toHaveAttribute("aria-valuetext", /^Input 1 of /);
    await look(page, "inspector-inputs");
    await tab(page, "Run").click();
    await expect(chart(page)).toHaveAttribute("data-state", "opening");

    await chat.button("Close the inspector").click();
    await expect(panel(page)).toHaveCount(0);
    await expect(chat.last.getByRole("button", { name: "Inspect this turn" })).toBeFocused();
  });

  test("a turn that runs is followed, and its state is lit as it changes", async ({ chat, page, server }) => {
    await chat.say("work");
    await expect(chat.tool("executing")).toBeVisible();
    await chat.last.getByRole("button", { name: "Inspect this turn" }).click();
    await expect(chart(page)).toHaveAttribute("data-state", "executing_tools");
    await look(page, "inspector-running");
    server.release();
    await expect(chart(page)).toHaveAttribute("data-state", "completed");
    await chat.over();
  });

  test("what is downloaded is played back on a page that has no such turn, by keys alone", async ({ chat, page, browser, server }) => {
    await chat.say("sum");
    await chat.over();
    await chat.last.getByRole("button", { name: "Inspect this turn" }).click();
    await expect(chart(page)).toHaveAttribute("data-state", "completed");
    await panel(page).getByText("Download").click();
    const wait = async (name: string): Promise<string> => {
      const [file] = await Promise.all([page.waitForEvent("download"), chat.button(name).click()]);
      return contents(file);
    };
    const journal = await wait("Journal");
    expect(journal).toContain('"open_stream"');
    expect(await wait("Journal without its texts")).not.toContain("It is 42.");
    expect(await wait("Session as Markdown")).toContain("## You\n\nsum");
    expect(JSON.parse(await wait("Session as JSON"))).toHaveProperty("messages");

    const context = await browser.newContext({ reducedMotion: "reduce" });
    const other = await context.newPage();
    await other.goto(server.url);
    await other.getByText("What shall we do?").waitFor();
    await context.setOffline(false);
    await drop(other, "a-turn.jsonl", journal);
    await expect(panel(other).getByRole("heading", { name: "a-turn.jsonl" })).toBeFocused();
    // From here on nothing is asked of anybody.
    await context.setOffline(true);
    await expect(chart(other)).toHaveAttribute("data-state", "completed");
    const slider = panel(other).getByRole("slider");
    while (!(await slider.evaluate((element) => element === document.activeElement))) await other.keyboard.press("Tab");
    await other.keyboard.press("Home");
    await expect(chart(other)).toHaveAttribute("data-state", "opening");
    await expect(panel(other).locator(".played")).toContainText("sum");
    await expect(panel(other).locator(".played")).not.toContainText("It is 42.");
    for (let steps = 0; (await chart(other).getAttribute("data-state")) !== "executing_tools"; steps++) {
      expect(steps).toBeLessThan(200);
      await other.keyboard.press("ArrowRight");
    }
    await other.keyboard.press("End");
    await expect(panel(other).locator(".played")).toContainText("It is 42.");
    await other.keyboard.press("Escape");
    await expect(panel(other)).toHaveCount(0);
    await context.close();
  });
});

test("without journals the events are there, and the inspector says what is missing", async ({ chat, page }) => {
  await chat.say("hello");
  await chat.over();
  await chat.last.getByRole("button", { name: "Inspect this turn" }).click();
  await expect(panel(page)).toContainText("--record full");
  await look(page, "inspector-without-journal");
  await tab(page, "Run").press("ArrowRight");
  await expect(tab(page, "Events")).toBeFocused();
  await expect(panel(page).getByText("RUN_FINISHED")).toBeVisible();
});

test("a journal that names only what came of its inputs is played back too", async ({ chat, page }) => {
  await expect(page.getByText("What shall we do?")).toBeVisible();
  await drop(page, "kept.jsonl", journalOf("openai-chat-stored-retried-revived.jsonl"));
  await expect(chart(page)).toHaveAttribute("data-state", "completed");
  await expect(panel(page)).toContainText("stepwell replay FILE --full COPY");
  await panel(page).getByRole("slider").press("Home");
  await panel(page).getByRole("button", { name: "Play" }).click();
  await expect(chart(page)).toHaveAttribute("data-state", "completed");
  await look(page, "inspector-played");
  await page.emulateMedia({ colorScheme: null });
  expect(chat.faults).toEqual([]);
});

test("a journal that is damaged is said to be so", async ({ chat, page }) => {
  await expect(page.getByText("What shall we do?")).toBeVisible();
  const damaged = journalOf("ag-ui-two-tools.jsonl").split("\n");
  damaged[3] = "{";
  await drop(page, "damaged.jsonl", damaged.join("\n"));
  await expect(panel(page)).toContainText("line 4 is damaged");
  expect(chat.faults).toEqual([]);
});

test("a journal that was cut is played as far as it goes, and said to be cut", async ({ chat, page }) => {
  await expect(page.getByText("What shall we do?")).toBeVisible();
  const lines = journalOf("openai-chat-two-tools.jsonl").split("\n");
  await drop(page, "cut.jsonl", `${lines.slice(0, 9).join("\n")}\n{"at":1`);
  await expect(chart(page)).toHaveAttribute("data-state", "streaming");
  await expect(panel(page)).toContainText("The journal was not closed");
  expect(chat.faults).toEqual([]);
});

test("from right to left the inspector is on the other side", async ({ chat, page }) => {
  await page.evaluate(() => (document.documentElement.dir = "rtl"));
  await drop(page, "kept.jsonl", journalOf("openai-chat-two-tools.jsonl"));
  await expect(chart(page)).toHaveAttribute("data-state", "completed");
  await look(page, "inspector-right-to-left");
  const box = await panel(page).boundingBox();
  expect(box?.x).toBeLessThan(10);
  expect(chat.faults).toEqual([]);
});
