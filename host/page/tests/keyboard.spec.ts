// All of it without a mouse.
import { expect, test } from "./harness";

test("a turn with an approval, a stop and an edit, by keys alone", async ({ chat, page, server }) => {
  const press = (key: string): Promise<void> => page.keyboard.press(key);
  /** Moves on until the wanted thing has the focus, as a user would. */
  const tabTo = async (name: RegExp, key = "Tab"): Promise<void> => {
    const focused = (): Promise<string> =>
      page.evaluate(() => {
        const element = document.activeElement as HTMLElement;
        return `${element.tagName} ${element.getAttribute("aria-label") ?? element.textContent}`;
      });
    for (let steps = 0; steps < 40; steps++) {
      if (name.test(await focused())) return;
      await press(key);
    }
    throw new Error(`no key leads to ${name}; the focus is on ${await focused()}`);
  };

  // The first link of the page leads past the sessions.
  await tabTo(/^A To the message box/, "Shift+Tab");
  await press("Enter");
  await expect(chat.field).toBeFocused();

  await page.keyboard.type("send it");
  await press("Shift+Enter");
  await page.keyboard.type("now");
  await press("Enter");
  await expect(chat.last.locator(".bubble")).toHaveText("send it\nnow");
  await expect(page.locator("[aria-live=assertive]")).toContainText("Your approval is asked");
  await tabTo(/^BUTTON Approve/, "Shift+Tab");
  await press("Enter");
  // The button is gone, and the focus is not lost with it.
  await expect(chat.tool().getByRole("button", { name: /lab__send/ })).toBeFocused();
  await expect(chat.last).toContainText("That is settled.");
  await chat.over();
  expect(server.calls()).toEqual(["sent alice@example.org"]);
  await expect(page.locator("[aria-live=polite]")).toContainText("That is settled.");

  await tabTo(/^TEXTAREA Message/);
  await page.keyboard.type("half");
  await press("Enter");
  await expect(chat.last.locator(".markdown")).toHaveText("The first half of the answer");
  await press("Escape");
  await expect(chat.last.getByRole("group", { name: "Stopped" })).toBeVisible();
  await chat.over();

  await tabTo(/^BUTTON Edit and send again/, "Shift+Tab");
  await press("Enter");
  await expect(page.getByLabel("Your message")).toBeFocused();
  await press("Escape");
  await expect(chat.last.getByRole("button", { name: "Edit and send again" })).toBeFocused();
  await press("Enter");
  await press("Control+A");
  await page.keyboard.type("hello");
  await press("Enter");
  await expect(chat.last).toContainText("Hello! How can I help?");
  await chat.over();

  await tabTo(/^BUTTON Delete/, "Shift+Tab");
  await press("Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
  await press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(chat.button(/^Delete/)).toBeFocused();
});

test("the next key is for the field that was opened, however late the page draws", async ({ chat, page }) => {
  await chat.say("hello");
  await chat.over();
  /** What has the focus as soon as the button was pressed, before anything is painted. */
  const opened = (name: string): Promise<string | null | undefined> =>
    page.getByRole("button", { name }).first().evaluate(async (button: HTMLElement) => {
      button.click();
      await Promise.resolve();
      const focused = document.activeElement;
      return focused?.getAttribute("aria-label") ?? focused?.textContent;
    });
  expect(await opened("Edit and send again")).toBe("Your message");
  await page.keyboard.press("Escape");
  await expect(chat.button("Edit and send again")).toBeFocused();
  expect(await opened("Rename")).toBe("Title of the session");
  await page.keyboard.press("Escape");
  await expect(page.locator(".entry.current a")).toBeFocused();
  expect(await opened("Delete")).toBe("Cancel");
});

test("an answer is said, however late the page draws", async ({ chat, page }) => {
  await page.evaluate(() => {
    window.requestAnimationFrame = (then) => window.setTimeout(() => then(performance.now()), 1000);
  });
  await chat.say("hello");
  await expect(page.locator("[aria-live=polite]")).toContainText("Hello! How can I help?");
});

test("an answer is said that was whole before the page could follow it", async ({ chat, page }) => {
  await page.route(/\/threads\/[^/?]+(\?.*)?$/, async (route) => {
    if (route.request().method() !== "GET") return route.fallback();
    for (;;) {
      const response = await route.fetch();
      if (!(await response.text()).includes('"streaming"')) return route.fulfill({ response });
    }
  });
  await chat.say("hello");
  await expect(page.locator("[aria-live=polite]")).toContainText("Hello! How can I help?");
});
