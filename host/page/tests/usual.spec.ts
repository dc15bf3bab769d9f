// What people are used to, and what keeps them safe.
import { anotherTab, expect, look, screenshot, test } from "./harness";

const list = (page: import("@playwright/test").Page) => page.getByRole("navigation", { name: "Sessions" });

test("who answers is shown", async ({ chat, page }) => {
  await expect(page.locator("header .model")).toHaveText("openai-compatible · m");
  await expect(chat.field).toBeVisible();
});

test.describe("of a server that offers several models", () => {
  test.use({ serverArguments: [["--offer", "openai-compatible/another", "--record", "full"], { scope: "test" }] as never });

  test("the user chooses who answers", async ({ chat, page }) => {
    const choice = page.getByRole("combobox", { name: "Model" });
    await expect(choice.getByRole("option")).toHaveText(["openai-compatible/m", "openai-compatible/another"]);
    await choice.selectOption("openai-compatible/another");
    await chat.say("hello");
    await chat.over();
    await chat.last.getByRole("button", { name: "Inspect this turn" }).click();
    await expect(page.getByRole("region", { name: "Hops" })).toContainText("another");
    await look(page, "models");
    await page.reload();
    await expect(choice).toHaveValue("openai-compatible/another");
  });
});

test("marks that hide or turn round are shown, so that an approval is of what it seems", async ({ chat, page, server }) => {
  await chat.say("spoof");
  const tool = chat.tool("awaiting_approval");
  const shown = tool.getByRole("region", { name: "Arguments" });
  await expect(shown).toContainText("U+202E");
  await expect(shown).toContainText("U+200B");
  await expect(shown).toHaveCSS("direction", "ltr");
  expect(await tool.innerText()).not.toMatch(/[\u202a-\u202e\u200b]/);
  await look(page, "marks-shown");
  await tool.getByRole("button", { name: "Approve" }).click();
  await chat.over();
  expect(server.calls()[0]).toMatch(/^sent /);
});

test("the arguments of a call are edited before it runs", async ({ chat, page, server }) => {
  await chat.say("send");
  await chat.button("Edit…").click();
  const field = page.getByLabel("The tool runs with these arguments.");
  await expect(field).toBeFocused();
  await expect(field).toHaveValue(/alice@example\.org/);
  await field.fill('{"name": ');
  await chat.button("Approve with these").click();
  await expect(page.getByRole("alert").filter({ hasText: "This is no JSON" })).toBeVisible();
  await field.fill("[]");
  await chat.button("Approve with these").click();
  await expect(page.getByRole("alert").filter({ hasText: "an object in braces" })).toBeVisible();
  expect(server.calls()).toEqual([]);
  await field.fill('{"name": "bob@example.org"}');
  await look(page, "editing-arguments");
  await chat.button("Approve with these").click();
  await expect(chat.last).toContainText("That is settled.");
  await chat.over();
  expect(server.calls()).toEqual(["sent bob@example.org"]);
});

test("a session that needs the user is told from one that runs, in the list and in the title", async ({ chat, page }) => {
  await chat.say("send");
  await expect(chat.button("Approve")).toBeVisible();
  await expect(list(page).getByRole("link", { name: "send (needs you)" })).toBeVisible();
  await expect(page).toHaveTitle("Needs you · send · Stepwell");
  await page.getByRole("link", { name: "New session" }).click();
  await chat.say("half");
  await expect(list(page).getByRole("link", { name: "half (running)" })).toBeVisible();
  await expect(list(page).getByRole("link", { name: "send (needs you)" })).toBeVisible();
  await expect(page).toHaveTitle("Needs you · half · Stepwell");
  await look(page, "needs-you");
  await chat.button("Stop").click();
  await chat.over();
  await list(page).getByRole("link", { name: "send (needs you)" }).click();
  await chat.button("Approve").click();
  await chat.over();
  await expect(list(page).getByRole("link", { name: "send", exact: true })).toBeVisible();
  await expect(page).toHaveTitle("send · Stepwell");
});

test("sessions are found by their titles, in groups by date", async ({ chat, page }) => {
  for (const words of ["hello one", "hello two"]) {
    await page.getByRole("link", { name: "New session" }).click();
    await chat.say(words);
    await chat.over();
  }
  await expect(list(page).getByRole("region", { name: "Today" }).getByRole("link")).toHaveCount(2);
  const field = page.getByLabel("Search the sessions by title");
  await field.fill("ONE");
  await expect(list(page).getByRole("link")).toHaveText(["hello one"]);
  await field.fill("three");
  await expect(list(page)).toContainText("No session is called so.");
  await look(page, "searched");
});

test("the theme is the system's, or the one that is chosen", async ({ chat, page, context }) => {
  const background = (of: typeof page) => of.locator("body").evaluate((body) => getComputedStyle(body).backgroundColor);
  await page.emulateMedia({ colorScheme: "light" });
  const light = await background(page);
  await chat.button("Theme: system").click();
  await chat.button("Theme: light").click();
  await expect(chat.button("Theme: dark")).toBeVisible();
  await expect.poll(() => background(page)).not.toBe(light);
  await screenshot(page, "theme-dark");
  await page.reload();
  await expect(chat.button("Theme: dark")).toBeVisible();
  expect(await background(page)).not.toBe(light);
  const other = await anotherTab(context, page.url());
  await expect(other.button("Theme: dark")).toBeVisible();
  await chat.button("Theme: dark").click();
  await expect(other.button("Theme: system")).toBeVisible();
  await expect.poll(() => background(page)).toBe(light);
});

test("a long paste is folded", async ({ chat, page }) => {
  await chat.field.fill(`hello\n${"a line\n".repeat(60)}the end`);
  await chat.field.press("Enter");
  await chat.over();
  const bubble = chat.last.locator(".bubble");
  expect((await bubble.boundingBox())!.height).toBeLessThan(300);
  await look(page, "paste-folded");
  await bubble.getByRole("button", { name: "Show all of it" }).click();
  expect((await bubble.boundingBox())!.height).toBeGreaterThan(900);
});

test("another answer is asked for on an earlier turn, and what followed the first is still found", async ({ chat, page }) => {
  await chat.say("hello");
  await chat.over();
  await chat.say("think");
  await chat.over();
  await chat.turns.first().getByRole("button", { name: "Another answer" }).click();
  await expect(chat.turns).toHaveCount(1);
  await chat.over();
  await expect(chat.last).toContainText("What was said after version 1 is still there.");
  await look(page, "another-answer");
  await chat.button("Show it").click();
  await expect(chat.turns).toHaveCount(2);
  await expect(chat.last).toContainText("I have thought about it.");
});

test("when a message of another tab takes the place of one, that is said", async ({ chat, page, context }) => {
  await chat.say("half");
  await expect(chat.last).toContainText("The first half of the answer");
  await expect(page).toHaveURL(/#\/./);
  const thread = new URL(page.url()).hash.split("/")[1];
  const origin = new URL(page.url()).origin;
  // Another program, which knows nothing of this turn.
  const begun = await context.request.post(`${origin}/threads/${thread}/turns`, { data: { turnId: "of-another", parent: null, message: "hello" } });
  expect(begun.status()).toBe(201);
  const notice = page.getByText("Another message was sent to this session");
  await expect(notice).toBeVisible();
  await expect(chat.last).toContainText("Hello! How can I help?");
  await look(page, "displaced");
  await chat.button("Show mine").click();
  await expect(chat.last).toContainText("The first half of the answer");
});

test("files go with a message: chosen, pasted and dropped", async ({ chat, page }) => {
  const files = page.getByRole("list", { name: "Attached" });
  await expect(page.locator("header .model")).toBeVisible();
  await page.getByLabel("Files", { exact: true }).setInputFiles([{ name: "list.csv", mimeType: "text/csv", buffer: Buffer.from("a,b\n1,2\n") }]);
  await expect(files.getByRole("listitem")).toHaveText(["list.csv"]);
  const hand = (type: string) =>
    page.evaluateHandle((type) => {
      const transfer = new DataTransfer();
      const dot = atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==");
      const bytes = Uint8Array.from(dot, (character) => character.charCodeAt(0));
      transfer.items.add(new File([bytes], type === "paste" ? "dot.png" : "program.exe", { type: type === "paste" ? "image/png" : "application/x-msdownload" }));
      return transfer;
    }, type);
  const pasted = await hand("paste");
  await chat.field.evaluate((field, clipboardData) => field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true })), pasted);
  await expect(files.getByRole("listitem")).toHaveText(["list.csv", "dot.png"]);
  await page.dispatchEvent("main", "drop", { dataTransfer: await hand("drop") });
  await expect(page.getByRole("alert").filter({ hasText: "program.exe cannot be sent" })).toBeVisible();
  await look(page, "attached");
  await chat.say("hello");
  await chat.over();
  await expect(files).toHaveCount(0);
  const bubble = chat.last.locator(".bubble");
  await expect(bubble).toContainText("list.csv");
  await expect(bubble.getByRole("img", { name: "A picture that you sent" })).toHaveJSProperty("naturalWidth", 1);
  await page.reload();
  await expect(bubble.getByRole("img", { name: "A picture that you sent" })).toHaveJSProperty("naturalWidth", 1);
  await look(page, "attachments-sent");
});

test("formulas and code are drawn, and what draws them is loaded when there are some", async ({ chat, page }) => {
  const asked: string[] = [];
  page.on("request", (request) => void asked.push(new URL(request.url()).pathname));
  await chat.say("hello");
  await chat.over();
  expect(asked.filter((path) => /math|highlight/.test(path))).toEqual([]);
  await chat.say("formula");
  await chat.over();
  await expect(chat.last.locator("math")).toHaveCount(2);
  await expect(chat.last.locator("math mfrac")).toHaveCount(1);
  await expect(chat.last).toContainText("It costs $5, and $6 more.");
  await expect(chat.last.locator("pre .hljs-keyword").first()).toHaveText("fn");
  await expect(chat.last.locator("pre")).toContainText("U+202E");
  await look(page, "formulas");
});

test("a server that does not answer is said to be slow", async ({ chat, page }) => {
  await expect(page.locator("header .model")).toBeVisible();
  await page.clock.install();
  const held = new Promise<void>((come) => {
    void page.route("**/turns", () => come());
  });
  await chat.say("hello");
  await held;
  await page.clock.runFor(11_000);
  await expect(page.getByText("The server has not answered for a while.")).toBeVisible();
  await expect(chat.last).toContainText("Nothing has come from the model for 1");
});
