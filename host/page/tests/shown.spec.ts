// How what was said is laid out, and what the page says of what it cannot do now.
import { Proxy } from "./proxy";
import { Chat, expect, look, test } from "./harness";

test("a wide table scrolls, and breaks no word", async ({ chat, page }) => {
  await chat.say("wide");
  await chat.over();
  const table = chat.last.getByRole("region", { name: "Table" });
  for (const viewport of [{ width: 1200, height: 800 }, { width: 390, height: 844 }]) {
    await page.setViewportSize(viewport);
    const [content, shown, highest, line] = await table.evaluate((region) => {
      const cells = [...region.querySelectorAll<HTMLElement>("th")];
      const style = getComputedStyle(cells[0]!);
      const line = parseFloat(style.lineHeight) + parseFloat(style.paddingTop) + parseFloat(style.paddingBottom) + 2;
      return [region.scrollWidth, region.clientWidth, Math.max(...cells.map((cell) => cell.offsetHeight)), line];
    });
    expect(content).toBeGreaterThan(shown!);
    expect(highest, "each heading is in one line").toBeLessThanOrEqual(line!);
  }
  await look(page, "wide-table");
});

test("formulas in a line are drawn, and dollars that are none stay", async ({ chat }) => {
  await chat.say("inline");
  await chat.over();
  await expect(chat.last.locator(".markdown math")).toHaveCount(2);
  await expect(chat.last.locator(".markdown mtable mtr")).toHaveCount(2);
  await expect(chat.last.locator(".markdown")).toContainText("it costs $$ and more $$ to draw");
});

test("a text file is a chip, whose text is there for who opens it", async ({ chat, page }) => {
  const lines = Array.from({ length: 3000 }, (_, line) => `line ${line}`).join("\n");
  await page.getByLabel("Files", { exact: true }).setInputFiles([{ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from(lines) }]);
  await chat.say("hello");
  await chat.over();
  for (const isReloaded of [false, true]) {
    if (isReloaded) await page.reload();
    const bubble = chat.last.locator(".bubble");
    await expect(bubble.locator("summary")).toHaveText(/^notes\.txt\d+ kB$/);
    await expect(bubble).not.toContainText("line 2999");
    expect((await bubble.boundingBox())!.height).toBeLessThan(150);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("hello");
  }
  await look(page, "text-attached");
  await chat.last.locator("summary").click();
  await expect(chat.last.getByRole("region", { name: "The text of notes.txt" })).toContainText("line 2999");

  // What goes with a message is not what is edited, and stays.
  await chat.last.getByRole("button", { name: "Edit and send again" }).click();
  await expect(page.getByLabel("Your message")).toHaveValue("hello");
  await page.getByLabel("Your message").fill("hello again");
  await page.getByLabel("Your message").press("Enter");
  await expect(chat.last.locator(".bubble > div")).toHaveText("hello again");
  await expect(chat.last.locator("summary")).toContainText("notes.txt");
});

test("each file that is refused is named", async ({ chat, page }) => {
  await expect(chat.field).toBeVisible();
  await page.getByLabel("Files", { exact: true }).setInputFiles([
    { name: "evil.exe", mimeType: "application/x-msdownload", buffer: Buffer.from("MZ") },
    { name: "film.mkv", mimeType: "video/x-matroska", buffer: Buffer.from("film") },
  ]);
  await expect(page.locator(".problem")).toContainText("evil.exe");
  await expect(page.locator(".problem")).toContainText("film.mkv");
});

test("a message that comes too early is kept, and that is said", async ({ chat, page }) => {
  await chat.say("half");
  await expect(chat.last.locator(".markdown")).toHaveText("The first half of the answer");
  await chat.say("hello");
  await expect(page.locator("#composer-hint")).toHaveText("Not sent: the answer is still coming. Esc stops it.");
  await expect(page.locator("[aria-live=polite]")).toContainText("Not sent");
  await expect(chat.field).toHaveValue("hello");
  await look(page, "too-early");
  await chat.field.press("Escape");
  await chat.over();
  await expect(page.locator("#composer-hint")).toContainText("Enter sends");
  await chat.field.press("Enter");
  await expect(chat.last).toContainText("Hello! How can I help?");
});

test("a question is a key away from the message box", async ({ chat, page, server }) => {
  await chat.say("send it");
  await expect(chat.button("Approve")).toBeVisible();
  await look(page, "asked");
  await chat.field.focus();
  // The button to stop is between.
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(chat.button("Approve")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(chat.last).toContainText("That is settled.");
  expect(server.calls()).toEqual(["sent alice@example.org"]);
});

test("sessions that are not open are one stop each", async ({ chat, page }) => {
  for (const words of ["hello one", "hello two"]) {
    await page.getByRole("link", { name: "New session" }).click();
    await chat.say(words);
    await chat.over();
  }
  const stops = page.locator(".entry:not(.current) :is(a, button)");
  await expect(stops).toHaveCount(3);
  expect(await stops.evaluateAll((all) => all.filter((each) => (each as HTMLElement).tabIndex >= 0).length)).toBe(1);
});

test("that the server was away is not said once it is back", async ({ page, server }) => {
  const proxy = await Proxy.start(server.url);
  const chat = new Chat(page);
  chat.mayFail = true;
  await page.goto(proxy.url);
  await chat.say("send it");
  await expect(chat.button("Approve")).toBeVisible();
  proxy.cut();
  await chat.button("Approve").click();
  await expect(chat.last.locator(".question")).toContainText("The server cannot be reached.");
  proxy.mend();
  await expect(chat.last.locator(".question")).not.toContainText("The server cannot be reached.");
  await chat.button("Approve").click();
  await expect(chat.last).toContainText("That is settled.");
  await proxy.close();
});

test("a session that was deleted elsewhere is gone", async ({ chat, page, server }) => {
  await chat.say("hello");
  await chat.over();
  const list = page.getByRole("navigation", { name: "Sessions" });
  await expect(list.getByRole("link")).toHaveText(["hello"]);
  chat.mayFail = true;
  const thread = new URL(page.url()).hash.split("/")[1];
  expect((await page.request.delete(`${server.url}threads/${thread}`)).status()).toBe(204);
  await expect(list.getByRole("link")).toHaveCount(0);
  await expect(chat.turns).toHaveCount(0);
  await expect(page.getByRole("main")).toContainText("This session is not there any more");
});

test("no empty session lies between a new one and what was before", async ({ chat, page }) => {
  await chat.say("hello one");
  await chat.over();
  await page.getByRole("link", { name: "New session" }).click();
  await chat.say("hello two");
  await chat.over();
  await page.goBack();
  await expect(chat.last.locator(".bubble")).toHaveText("hello one");
});
