// The list of sessions, and the page around them.
import { anotherTab, expect, look, screenshot, test } from "./harness";

test("sessions are begun, chosen, renamed and deleted", async ({ chat, page }) => {
  const list = page.getByRole("navigation", { name: "Sessions" });
  for (const words of ["hello one", "hello two"]) {
    await page.getByRole("link", { name: "New session" }).click();
    await chat.say(words);
    await chat.over();
  }
  await expect(list.getByRole("link")).toHaveText(["hello two", "hello one"]);
  await list.getByRole("link", { name: "hello one" }).click();
  await expect(chat.last.locator(".bubble")).toHaveText("hello one");
  await expect(list.getByRole("link", { name: "hello one" })).toHaveAttribute("aria-current", "page");
  await page.goBack();
  await expect(chat.last.locator(".bubble")).toHaveText("hello two");

  await list.getByRole("button", { name: "Rename hello two" }).click();
  await page.getByLabel("Title of the session").fill("Another title");
  await page.getByLabel("Title of the session").press("Enter");
  await expect(list.getByRole("link", { name: "Another title" })).toBeVisible();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Another title");
  await look(page, "sessions");

  await list.getByRole("button", { name: "Delete Another title" }).click();
  await look(page, "deleting");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(list.getByRole("link")).toHaveText(["hello one"]);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("New session");
});

test("a session that runs is marked, and one with news", async ({ chat, page, server }) => {
  const list = page.getByRole("navigation", { name: "Sessions" });
  await chat.say("work");
  await expect(chat.tool("executing")).toBeVisible();
  await page.getByRole("link", { name: "New session" }).click();
  await chat.say("hello");
  await chat.over();
  await expect(list.getByRole("link", { name: "work (running)" })).toBeVisible();
  await look(page, "session-running");
  server.release();
  await expect(list.getByRole("link", { name: "work (unread)" })).toBeVisible();
  await look(page, "session-unread");
  await list.getByRole("link", { name: "work" }).click();
  await expect(chat.last).toContainText("All of it is done.");
  await expect(list.getByRole("link", { name: "work", exact: true })).toBeVisible();
});

test("what was seen has no news, though the server has not heard of it yet", async ({ chat, page }) => {
  const acknowledged = new Promise<void>((come) => {
    void page.route("**/acknowledge", () => come());
  });
  await chat.say("hello");
  await chat.over();
  await acknowledged;
  await page.getByRole("link", { name: "New session" }).click();
  await page.waitForResponse((response) => new URL(response.url()).pathname.endsWith("/threads"));
  await expect(page.getByRole("navigation", { name: "Sessions" }).getByRole("link")).toHaveText(["hello"]);
});

test("what is read in one browser is read in the other", async ({ chat, page, server, browser }) => {
  const listOf = (of: typeof page) => of.getByRole("navigation", { name: "Sessions" });
  await chat.say("work");
  await expect(chat.tool("executing")).toBeVisible();
  await page.getByRole("link", { name: "New session" }).click();
  server.release();
  await expect(listOf(page).getByRole("link", { name: "work (unread)" })).toBeVisible();
  const context = await browser.newContext();
  const other = await anotherTab(context, server.url);
  // Nobody was ever here, and it is news all the same.
  await listOf(other.page).getByRole("link", { name: "work (unread)" }).click();
  await expect(other.last).toContainText("All of it is done.");
  await expect(listOf(page).getByRole("link", { name: "work", exact: true })).toBeVisible();
  await page.reload();
  await expect(listOf(page).getByRole("link", { name: "work", exact: true })).toBeVisible();
  await context.close();
});

test("a session that somebody else deleted is said to be gone", async ({ chat, page, context }) => {
  await chat.say("hello");
  await chat.over();
  const other = await anotherTab(context, page.url());
  // The page notices by itself.
  chat.mayFail = true;
  await other.page.getByRole("button", { name: "Delete hello" }).click();
  await other.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  // It is gone when the server has said so.
  await expect(other.page.getByRole("link", { name: "hello" })).toBeHidden();
  await page.reload();
  await expect(page.getByRole("heading", { name: "This session is not there any more" })).toBeVisible();
  await look(page, "gone");
});

test("what was begun to be written is there after a reload", async ({ chat, page }) => {
  await chat.field.fill("half a thought");
  await page.reload();
  await expect(chat.field).toHaveValue("half a thought");
});

test("on a phone the sessions are behind a button", async ({ chat, page }) => {
  await chat.say("hello");
  await chat.over();
  await page.setViewportSize({ width: 390, height: 844 });
  const list = page.getByRole("navigation", { name: "Sessions" });
  await expect(list).toBeHidden();
  await chat.button("Sessions").click();
  await expect(list).toBeVisible();
  await screenshot(page, "drawer-phone-light");
  await page.keyboard.press("Escape");
  await expect(list).toBeHidden();
  await expect(chat.button("Sessions")).toBeFocused();
  await chat.button("Sessions").click();
  await list.getByRole("link", { name: "hello" }).click();
  await expect(list).toBeHidden();
});

test.describe("without a store", () => {
  test.use({ serverArguments: [["--store", "memory"], { scope: "test" }] });

  test("the page says that sessions are kept in memory", async ({ chat, page }) => {
    await chat.say("hello");
    await expect(page.getByText("Sessions are kept in memory")).toBeVisible();
    await chat.over();
    await look(page, "in-memory");
  });
});

test.describe("with a token", () => {
  test.use({ serverEnvironment: { STEPWELL_SERVE_TOKEN: "a-token-of-some-length" } });

  test("the page asks for it, and keeps it for the tab", async ({ chat, page }) => {
    chat.mayFail = true;
    chat.faults.length = 0;
    const dialog = page.getByRole("dialog", { name: "This server wants a token" });
    await expect(dialog).toBeVisible();
    await look(page, "token");
    await dialog.getByLabel("Token").fill("wrong");
    await dialog.getByLabel("Token").press("Enter");
    await expect(dialog).toContainText("does not take this token");
    await dialog.getByLabel("Token").fill("a-token-of-some-length");
    await dialog.getByLabel("Token").press("Enter");
    await expect(dialog).toBeHidden();
    await chat.say("hello");
    await expect(chat.last).toContainText("Hello! How can I help?");
    await page.reload();
    await expect(chat.last).toContainText("Hello! How can I help?");
    await expect(dialog).toBeHidden();
  });
});
