// Turns: what is seen of them while they run, and what can be done to them.
import { anotherTab, expect, look, test } from "./harness";
import { Proxy } from "./proxy";

test("a message is sent and answered, and a reload shows the same", async ({ chat, page }) => {
  await look(page, "empty");
  await chat.say("hello");
  await expect(chat.last.locator(".bubble")).toHaveText("hello");
  await expect(chat.last.locator(".markdown")).toHaveText("Hello! How can I help?");
  await chat.over();
  await expect(page.getByRole("navigation", { name: "Sessions" }).getByRole("link")).toHaveText("hello");
  await expect(page).toHaveTitle("hello · Stepwell");
  await look(page, "answered");
  const before = await chat.words();
  await page.reload();
  await expect(chat.last.locator(".markdown")).toHaveText("Hello! How can I help?");
  await expect.poll(() => chat.words()).toBe(before);
});

test("words are shown as they come, and a turn can be stopped", async ({ chat, page }) => {
  await chat.say("half");
  await expect(chat.last.locator(".markdown")).toHaveText("The first half of the answer");
  await expect(chat.last).toHaveAttribute("aria-busy", "true");
  await look(page, "streaming");
  await chat.button("Stop").click();
  await expect(chat.last.getByRole("group", { name: "Stopped" })).toBeVisible();
  await chat.over();
  await expect(chat.field).toBeFocused();
  await look(page, "stopped");
  const before = await chat.words();
  await page.reload();
  await expect(chat.last.getByRole("group", { name: "Stopped" })).toBeVisible();
  await expect.poll(() => chat.words()).toBe(before);
});

test("Markdown is shown as it is meant", async ({ chat, page }) => {
  await chat.say("markdown");
  await chat.over();
  const answer = chat.last.locator(".markdown");
  await expect(answer.getByRole("table")).toContainText("Abhaneri");
  await expect(answer.getByRole("cell", { name: "1,204" })).toHaveCSS("text-align", /right/);
  await expect(answer.locator("pre code")).toContainText("fn depth(steps: u32)");
  await expect(answer.getByRole("link", { name: "water" })).toHaveAttribute("rel", "noopener noreferrer nofollow");
  await look(page, "markdown");
});

test("no text is ever shown as a gap that is filled later", async ({ chat, page }) => {
  await page.addInitScript(() => {
    const isGap = (block: Element): boolean => block.childNodes.length === 0;
    const look = (): void => {
      if ([...document.querySelectorAll(".markdown .block")].some(isGap)) document.documentElement.dataset.gap = "seen";
    };
    new MutationObserver(look).observe(document, { subtree: true, childList: true });
  });
  await page.reload();
  await chat.say("hello");
  await chat.over();
  await page.reload();
  await expect(chat.last).toContainText("Hello! How can I help?");
  await expect(page.locator("html")).not.toHaveAttribute("data-gap");
});

test("reasoning is folded", async ({ chat, page }) => {
  await chat.say("think");
  await chat.over();
  const thought = chat.last.getByText("First I look at it from all sides.");
  await expect(thought).toBeHidden();
  await chat.last.getByText("Reasoning", { exact: true }).click();
  await expect(thought).toBeVisible();
  await look(page, "reasoning");
  const before = await chat.words();
  await page.reload();
  await chat.last.getByText("Reasoning", { exact: true }).click();
  await expect(thought).toBeVisible();
  await expect.poll(() => chat.words()).toBe(before);
});

test("a tool goes from a spinner to a tick, with its result folded", async ({ chat, page, server }) => {
  await chat.say("work");
  const tool = chat.tool();
  await expect(tool).toHaveAttribute("data-status", "executing");
  await expect(tool.locator(".spinner")).toBeVisible();
  await expect(tool).toContainText("Running");
  await look(page, "tool-running");
  server.release();
  await expect(tool).toHaveAttribute("data-status", "completed");
  await expect(tool.locator(".spinner")).toHaveCount(0);
  await expect(chat.last).toContainText("All of it is done.");
  await chat.over();
  const result = tool.getByRole("region", { name: "Result" });
  await expect(result).toBeHidden();
  await tool.getByRole("button").click();
  await expect(result).toHaveText("The work on one is done.");
  await expect(tool.getByRole("region", { name: "Arguments" })).toContainText('"name": "one"');
  await look(page, "tool-done");
});

test("a tool has the label of its arguments, live and after a reload", async ({ chat, page }) => {
  await chat.say("sum");
  await chat.over();
  await expect(chat.tool("completed").locator(".tool-label")).toHaveText("6 * 7");
  await page.reload();
  await expect(chat.tool("completed").locator(".tool-label")).toHaveText("6 * 7");
});

test("the arguments of a tool are shown as they are written", async ({ chat, page }) => {
  await chat.say("writes");
  const tool = chat.tool("streaming");
  await expect(tool.getByRole("region", { name: "Arguments" })).toContainText("a long list that is not whole y");
  await look(page, "tool-streaming");
  await chat.button("Stop").click();
  await chat.over();
});

test("a failing tool gets a cross, and says why", async ({ chat, page }) => {
  await chat.say("break");
  await chat.over();
  const tool = chat.tool("failed");
  await expect(tool).toContainText("Failed");
  await expect(tool.locator(".tool-reason")).toContainText("The disk is full");
  await expect(chat.last).toContainText("It could not be written.");
  await look(page, "tool-failed");
  const before = await chat.words();
  await page.reload();
  await expect(tool).toBeVisible();
  await expect.poll(() => chat.words()).toBe(before);
});

test("tools run side by side, each with its own end", async ({ chat, page, server }) => {
  await chat.say("many");
  await expect(chat.tool("executing")).toHaveCount(3);
  await expect(chat.tool("failed")).toHaveCount(1);
  await expect(chat.tool("completed")).toHaveCount(1);
  await look(page, "tools-side-by-side");
  ["two", "one", "three"].forEach((name) => server.release(name));
  await chat.over();
  await expect(chat.tool("completed")).toHaveCount(4);
});

test("one tool is stopped, and the others go on", async ({ chat, server }) => {
  await chat.say("many");
  await expect(chat.tool("executing")).toHaveCount(3);
  const tool = chat.tool("executing").first();
  await tool.getByRole("button").first().click();
  await tool.getByRole("button", { name: "Stop this tool" }).click();
  await expect(chat.tool("cancelled")).toHaveCount(1);
  await expect(chat.tool("executing")).toHaveCount(2);
  ["two", "one", "three"].forEach((name) => server.release(name));
  await chat.over();
  await expect(chat.tool("completed")).toHaveCount(3);
});

test("a picture of a tool is shown", async ({ chat, page }) => {
  await chat.say("paint");
  await chat.over();
  await chat.tool("completed").getByRole("button").click();
  await expect(page.getByRole("img", { name: "A picture that the tool gave" })).toHaveJSProperty("naturalWidth", 1);
});

test("a tool that asks is approved", async ({ chat, page, server }) => {
  await chat.say("send");
  const tool = chat.tool("awaiting_approval");
  await expect(tool.getByRole("group")).toContainText("lab__send");
  await expect(tool).toContainText("alice@example.org");
  await look(page, "asked");
  // A reload asks the same.
  await page.reload();
  expect(server.calls()).toEqual([]);
  await tool.getByRole("button", { name: "Approve" }).click();
  await expect(chat.tool("completed")).toBeVisible();
  await expect(chat.last).toContainText("That is settled.");
  expect(server.calls()).toEqual(["sent alice@example.org"]);
});

test("a tool that asks is denied, with a reason", async ({ chat, page, server }) => {
  await chat.say("send");
  await chat.button("Deny…").click();
  await expect(page.getByLabel("Why not?")).toBeFocused();
  await page.getByLabel("Why not?").fill("not to alice");
  await look(page, "denying");
  await chat.button("Deny").click();
  await expect(chat.tool("denied")).toContainText("not to alice");
  await expect(chat.last).toContainText("That is settled.");
  await chat.over();
  expect(server.calls()).toEqual([]);
  await look(page, "denied");
});

test("the limit of tools is said, and the user may go on from there", async ({ chat, page }) => {
  await chat.say("loop");
  const sign = chat.last.getByRole("group", { name: "A limit was reached" });
  await expect(sign).toContainText("Tool limit reached");
  await chat.over();
  await look(page, "tool-limit");
  await page.reload();
  await expect(sign).toContainText("Tool limit reached");
  await sign.getByRole("button", { name: "Go on" }).click();
  await expect(chat.turns).toHaveCount(2);
  await chat.over();
});

test("a turn that failed says why, and can be tried again", async ({ chat, page }) => {
  await chat.say("fail");
  const sign = chat.last.getByRole("group", { name: "The answer failed" });
  await expect(sign).toContainText("The model's provider is out of service");
  await chat.over();
  await look(page, "failed");
  const before = await chat.words();
  await page.reload();
  await expect(sign).toBeVisible();
  await expect.poll(() => chat.words()).toBe(before);
  await sign.getByRole("button", { name: "Try again" }).click();
  await expect(chat.page.getByRole("group", { name: "Versions of this message" })).toContainText("2");
  await expect(sign).toBeVisible();
  await chat.over();
});

test("a message is edited and sent again: both versions can be seen", async ({ chat, page }) => {
  await chat.say("hello");
  await chat.over();
  await chat.say("think");
  await chat.over();
  await chat.turns.first().getByRole("button", { name: "Edit and send again" }).click();
  await page.getByLabel("Your message").fill("markdown please");
  await look(page, "editing");
  await page.getByLabel("Your message").press("Enter");
  await expect(chat.turns).toHaveCount(1);
  await expect(chat.last.getByRole("table")).toBeVisible();
  await chat.over();
  const versions = page.getByRole("group", { name: "Versions of this message" });
  await expect(versions).toHaveText(/2.*2/);
  await look(page, "versions");
  await versions.getByRole("button", { name: "Version before" }).click();
  await expect(chat.turns).toHaveCount(2);
  await expect(chat.last).toContainText("I have thought about it.");
  // The address names the version.
  await page.reload();
  await expect(chat.turns).toHaveCount(2);
  await versions.getByRole("button", { name: "Version after" }).click();
  await expect(chat.last.getByRole("table")).toBeVisible();
});

test("a reload in the middle of a turn: it goes on and ends", async ({ chat, page, server }) => {
  await chat.say("work");
  await server.called("began one");
  await expect(chat.tool("executing")).toBeVisible();
  const before = await chat.words();
  await page.reload();
  await expect(chat.tool("executing")).toBeVisible();
  await expect.poll(() => chat.words()).toBe(before);
  server.release();
  await expect(chat.tool("completed")).toBeVisible();
  await expect(chat.last).toContainText("All of it is done.");
  await chat.over();
  expect(server.calls()).toEqual(["began one", "ended one"]);
});

test("a turn goes on when its page is closed", async ({ chat, page, server, context }) => {
  await chat.say("work");
  await server.called("began one");
  // The tool may begin before the page has the answer to its request, and with it the session's address.
  await expect(page).toHaveURL(/#\/./);
  const address = page.url();
  await page.close();
  server.release();
  await server.called("ended one");
  const later = await anotherTab(context, address);
  await expect(later.last).toContainText("All of it is done.");
});

test("a second tab sees the same, and so does another browser", async ({ chat, page, server, context, browser }) => {
  await chat.say("work");
  await expect(chat.tool("executing")).toBeVisible();
  const stranger = await browser.newContext();
  const others = [await anotherTab(context, page.url()), await anotherTab(stranger, page.url())];
  for (const other of others) await expect(other.tool("executing")).toBeVisible();
  server.release();
  for (const other of others) {
    await expect(other.last).toContainText("All of it is done.");
    await other.over();
  }
  await chat.over();
  for (const other of others) await expect.poll(() => other.words()).toBe(await chat.words());
  // What begins in the one is seen in the others.
  await others[1]!.say("hello");
  for (const one of [chat, others[0]!]) await expect(one.last).toContainText("Hello! How can I help?");
  await stranger.close();
});

test("the server is killed in the middle of a tool and started again: the turn ends, and the tool is not run twice", async ({ chat, page, server }) => {
  await chat.say("work");
  await server.called("began one");
  await expect(chat.tool("executing")).toBeVisible();
  chat.mayFail = true;
  await server.kill();
  await expect(page.getByText("The connection was lost.")).toBeVisible();
  await look(page, "connection-lost");
  await server.start();
  await page.getByRole("button", { name: "Try now" }).click({ timeout: 2_000 }).catch(() => {});
  await expect(page.getByText("Connected again.")).toBeVisible();
  // Nobody knows how far the tool had come: the model is told so.
  await expect(chat.tool("failed")).toBeVisible();
  await expect(chat.last).toContainText("All of it is done.");
  await chat.over();
  expect(server.calls()).toEqual(["began one"]);
  const before = await chat.words();
  await page.reload();
  await expect(chat.last).toContainText("All of it is done.");
  await expect.poll(() => chat.words()).toBe(before);
});

test("the server is killed in the middle of an answer and started again: the page says so, also after a reload", async ({ chat, page, server }) => {
  await chat.say("half");
  await expect(chat.last).toContainText("The first half of the answer");
  chat.mayFail = true;
  await server.kill();
  await server.start();
  await page.getByRole("button", { name: "Try now" }).click({ timeout: 2_000 }).catch(() => {});
  const cut = page.getByText("The server stopped here, and the answer was asked for again.");
  await expect(cut).toHaveCount(1);
  // The model says the same again, and no more.
  await expect(chat.last.locator(".markdown")).toHaveCount(2);
  await chat.button("Stop").click();
  await chat.over();
  await expect(cut).toHaveCount(1);
  const before = await chat.words();
  await page.reload();
  await expect(cut).toHaveCount(1);
  await expect.poll(() => chat.words()).toBe(before);
});

test("the connection breaks in the middle of a turn and is found again: nothing is lost, and nothing comes twice", async ({ chat, page, server }) => {
  const proxy = await Proxy.start(server.url);
  chat.mayFail = true;
  await page.goto(proxy.url);
  const asked: (string | undefined)[] = [];
  page.on("request", (request) => {
    if (new URL(request.url()).pathname.endsWith("/events")) asked.push(request.headers()["last-event-id"]);
  });
  await chat.say("work");
  await expect(chat.tool("executing")).toBeVisible();
  proxy.cut();
  await expect(page.getByText("The connection was lost.")).toBeVisible();
  // The turn goes on meanwhile.
  server.release();
  await server.called("ended one");
  proxy.mend();
  await expect(page.getByText("Connected again.")).toBeVisible();
  await expect(chat.tool("completed")).toHaveCount(1);
  await expect(chat.last.locator(".markdown")).toHaveText(["I begin the work.", "All of it is done."]);
  await chat.over();
  expect(asked[0]).toBeUndefined();
  expect(asked.at(-1)).toMatch(/:[0-9]+$/);
  const before = await chat.words();
  await page.reload();
  await expect(chat.tool("completed")).toBeVisible();
  await expect.poll(() => chat.words()).toBe(before);
  await proxy.close();
});

test("a long answer is followed to its end, unless the user reads elsewhere", async ({ chat, page }) => {
  await chat.say("long");
  await chat.over();
  await expect(chat.last.getByText("Paragraph 59")).toBeInViewport();
  await page.getByRole("region", { name: "Conversation" }).evaluate((view) => view.scrollTo({ top: 0 }));
  await expect(chat.button("To the end")).toBeVisible();
  await look(page, "scrolled-away");
  await chat.button("To the end").click();
  await expect(chat.last.getByText("Paragraph 59")).toBeInViewport();
});
