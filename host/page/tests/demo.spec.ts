// The server without a provider: every word that its help names does what it says, with the page's own tools and state.
import { expect, look, test } from "./harness";

test.use({ isDemo: true, geolocation: { latitude: 23.6, longitude: 72.4 }, permissions: ["geolocation"] });

test("the first screen tells what to try", async ({ chat, page }) => {
  const examples = page.getByRole("list", { name: "Examples" });
  await expect(examples.getByRole("button")).toHaveCount(6);
  await look(page, "examples");
  await examples.getByRole("button", { name: "Put it on my list" }).click();
  await chat.over();
  const state = page.getByRole("region", { name: "The state that the model shares with you" });
  await expect(state).toContainText('"title": "Drink tea"');
  await expect(state).toContainText('"done": true');
  await look(page, "state");
  await page.reload();
  await expect(state).toContainText('"title": "Drink tea"');
});

test("the page runs the tools that the model asks it for", async ({ chat, page }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await expect(chat.button("Theme: system")).toBeVisible();
  await chat.say("app");
  await expect(chat.last).toContainText("Your app has answered.");
  await chat.over();
  await expect(chat.tool("completed")).toHaveCount(2);
  await expect(chat.button("Theme: dark")).toBeVisible();
  await chat.tool("completed").first().getByRole("button").click();
  await expect(page.getByRole("region", { name: "Result" })).toContainText('"latitude": 23.6');
  await page.emulateMedia({ colorScheme: null });
});

test("a location that is not shared is said to be none", async ({ chat, context }) => {
  await context.clearPermissions();
  await chat.say("app");
  await chat.over();
  await expect(chat.tool("failed")).toHaveCount(1);
  await expect(chat.tool("completed")).toHaveCount(1);
});

for (const [word, said] of [
  ["both", "Both have answered."],
  ["missing", "Nobody here is called Carol."],
  ["table", "as code"],
  ["think", "I have thought about it."],
  ["hello", "Hello! I am a scripted model."],
  ["numbers", "Alice's number is 42"],
] as const) {
  test(`the word ${word}`, async ({ chat }) => {
    await chat.say(word);
    await expect(chat.last).toContainText(said);
    await chat.over();
  });
}

test("the words everything, slow and wait", async ({ chat }) => {
  await chat.say("everything");
  await chat.button("Approve").click();
  await expect(chat.last).toContainText("All is done.");
  await chat.over();
  await chat.say("slow");
  await expect(chat.tool("executing").getByRole("progressbar", { name: "3 to go" })).toHaveJSProperty("value", 0.4);
  await expect(chat.last).toContainText("Both are done.");
  await chat.over();
  await chat.say("wait");
  await expect(chat.last).toContainText("I wait until somebody stops me.");
  await chat.button("Stop").click();
  await chat.over();
});
