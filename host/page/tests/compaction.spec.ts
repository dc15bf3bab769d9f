// A conversation that nearly fills the model's context: what is seen of its compaction, and how it is undone.
import { expect, look, test } from "./harness";

test.use({ serverArguments: ["--compaction", "summary", "--context-window", "16000"] });

/** A story that is longer than what stays as it is. */
const STORY = `story of ${"a well ".repeat(2_600)}`;

test("a compaction is shown at its place, also after a reload, and is undone with the next message", async ({ chat, page }) => {
  const nodes = page.getByRole("group", { name: "Compaction" });
  const undo = nodes.getByRole("button", { name: "Undo" });
  await chat.say(STORY);
  await expect(chat.last.locator(".markdown")).toHaveText("I see.");
  await chat.over();
  await expect(nodes).toHaveCount(0);

  await chat.say("hello");
  await expect(chat.last.locator(".message .markdown")).toHaveText("Hello! How can I help?");
  await chat.over();
  for (const isReloaded of [false, true]) {
    if (isReloaded) await page.reload();
    await expect(nodes).toHaveCount(1);
    const node = chat.last.locator(".answer > *").nth(1);
    await expect(node).toHaveAttribute("aria-label", "Compaction");
    await expect(node.locator("summary")).toHaveText("Earlier messages are now a summary");
    await expect(node.locator(".markdown")).toBeHidden();
    await node.locator("summary").click();
    await expect(node.locator(".markdown")).toHaveText("A story was told.");
    await expect(node.locator(".compacted > p")).toContainText("The model is not sent “story of a well a well");
  }
  await look(page, "compacted");

  await undo.click();
  await expect(nodes).toContainText("Your next message is sent with the complete conversation.");
  await chat.button("Keep it compacted").click();
  await undo.click();
  await look(page, "compaction-undone-next");
  const started = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/turns"));
  await chat.say("think");
  expect(((await started).postDataJSON() as { wholeHistory?: boolean }).wholeHistory).toBe(true);
  await expect(chat.last.locator(".message .markdown")).toHaveText("I have thought about it.");
  await chat.over();
  for (const isReloaded of [false, true]) {
    if (isReloaded) await page.reload();
    await expect(nodes).toHaveCount(1);
    await expect(nodes.locator("summary")).toHaveText("Earlier messages are now a summaryundone");
    await expect(undo).toHaveCount(0);
  }
  await look(page, "compaction-undone");

  const next = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/turns"));
  await chat.say("hello");
  expect(Object.keys((await next).postDataJSON() as object)).not.toContain("wholeHistory");
  await chat.over();
});
