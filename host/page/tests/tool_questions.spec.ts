// What a running tool asks: a form that its JSON Schema says.
import { expect, look, test } from "./harness";
import { formOf, objectOf } from "../src/schema_form";
import { Proxy } from "./proxy";

test.describe("the scripted tool that orders tea", () => {
  test.use({ isDemo: true });

  test("asks by a form and by buttons", async ({ chat, page }) => {
    await chat.say("order");
    const tool = chat.tool("executing");
    const form = tool.getByRole("group", { name: "Which tea shall it be?" });
    await expect(form).toBeVisible();
    await expect(tool.getByRole("button", { name: /Order tea/ })).toContainText("Asks you");
    await look(page, "tool-asks");
    // A reload asks the same.
    await page.reload();
    await form.getByLabel("Tea").selectOption("mint");
    await form.getByLabel("Cups").fill("7");
    await form.getByRole("button", { name: "Answer" }).click();
    // The browser holds the user to what the schema says.
    await expect(form.getByLabel("Cups")).toBeFocused();
    await form.getByLabel("Cups").fill("2");
    await form.getByLabel("Note").fill("with honey");
    await form.getByRole("button", { name: "Answer" }).click();
    const sure = tool.getByRole("group", { name: "Order 2 cups of mint tea (with honey)?" });
    await look(page, "tool-asks-yes-or-no");
    await sure.getByRole("button", { name: "Yes" }).click();
    await expect(chat.last).toContainText("That is settled.");
    await chat.over();
    await chat.tool("completed").getByRole("button").click();
    await expect(page.getByRole("region", { name: "Result" })).toContainText("Ordered: 2 cups of mint tea (with honey).");
  });

  test("is answered by keys alone, and said", async ({ chat, page }) => {
    await chat.say("order");
    await expect(page.locator("[aria-live=assertive]")).toContainText("A tool asks you: Which tea shall it be?");
    const form = page.getByRole("group", { name: "Which tea shall it be?" });
    await form.getByLabel("Tea").focus();
    await page.keyboard.press("g");
    await page.keyboard.press("Tab");
    await page.keyboard.type("1");
    await page.keyboard.press("Enter");
    // The field is gone, and the focus is not lost with it.
    await expect(chat.tool().getByRole("button", { name: /Order tea/ })).toBeFocused();
    await expect(page.locator("[aria-live=assertive]")).toContainText("A tool asks you: Order a cup of green tea?");
    await chat.tool().getByRole("button", { name: "No", exact: true }).press("Enter");
    await chat.over();
  });

  test("takes no for an answer", async ({ chat, page }) => {
    await chat.say("order");
    await chat.button("Decline").click();
    await chat.over();
    await chat.tool("completed").getByRole("button").click();
    await expect(page.getByRole("region", { name: "Result" })).toContainText("The user would like no tea.");
  });

  test("asks on where its server was killed and started again", async ({ chat, page, server }) => {
    chat.mayFail = true;
    await chat.say("order");
    const form = page.getByRole("group", { name: "Which tea shall it be?" });
    await form.getByLabel("Cups").fill("3");
    await server.kill();
    await server.start();
    // What was typed is not lost.
    await form.getByLabel("Tea").selectOption("black");
    await expect(form.getByLabel("Cups")).toHaveValue("3");
    await expect(async () => {
      const answer = form.getByRole("button", { name: "Answer" });
      if (await answer.isVisible()) await answer.click({ timeout: 1000 });
      await expect(page.getByRole("group", { name: "Order 3 cups of black tea?" })).toBeVisible({ timeout: 5000 });
    }).toPass();
    await chat.button("Yes").click();
    await expect(chat.last).toContainText("That is settled.");
    await chat.over();
  });

  test("asks for JSON where no simple form says what its schema says", async ({ chat, page, server }) => {
    // The schema is one that the page cannot read: the server's own stays as it is.
    const proxy = await Proxy.start(server.url, (text) => text.replaceAll('"properties":{"tea"', '"propertiez":{"tea"'));
    await page.goto(proxy.url);
    await chat.say("order");
    const field = page.getByLabel("Your answer, as JSON");
    await field.fill("two cups");
    await chat.button("Answer").click();
    await expect(chat.tool("executing").getByRole("alert")).toContainText("This is no JSON");
    await expect(field).toBeFocused();
    await look(page, "tool-asks-json");
    await field.fill('{"tea": "green"}');
    chat.mayFail = true;
    await chat.button("Answer").click();
    await expect(chat.tool("executing").getByRole("alert")).toContainText("cups");
    await field.fill('{"tea": "green", "cups": 1}');
    await chat.button("Answer").click();
    await chat.button("Yes").click();
    await expect(chat.last).toContainText("That is settled.");
    await chat.over();
    await page.goto("about:blank");
    await proxy.close();
  });
});

test("a form is made of a simple schema, and of no other", () => {
  const kind = (schema: unknown): string => {
    const form = formOf(schema);
    return form.kind === "value" ? form.field.kind : form.kind;
  };
  const object = (properties: object, more: object = {}): object => ({ type: "object", properties, ...more });
  expect(kind({ type: "boolean" })).toBe("choice");
  expect(kind({ enum: ["a", 1, null] })).toBe("choice");
  expect(kind({ const: "a" })).toBe("choice");
  expect(kind({ type: "string" })).toBe("text");
  expect(kind({ type: "integer", minimum: 1 })).toBe("number");
  expect(kind(object({ a: { type: "string" }, b: { type: "number" } }, { required: ["a"] }))).toBe("object");
  for (const schema of [
    undefined,
    {},
    true,
    { type: ["string", "null"] },
    { type: "array", items: { type: "string" } },
    { enum: [{ a: 1 }] },
    { type: "string", not: { const: "a" } },
    object({}),
    object({ a: { type: "object" } }),
    object({ a: { $ref: "#/$defs/a" } }),
    object({ a: { type: "string" } }, { required: ["b"] }),
    object({ a: { type: "string" } }, { anyOf: [{ required: ["a"] }] }),
  ]) {
    expect(kind(schema), JSON.stringify(schema)).toBe("json");
  }
});

test("what is typed into a form is a value of its schema", () => {
  const form = formOf({
    type: "object",
    properties: {
      name: { type: "string" },
      note: { type: "string" },
      count: { type: "integer", default: 2 },
      size: { enum: ["small", "large"], default: "large" },
      sure: { type: "boolean" },
    },
    required: ["name", "count"],
  });
  if (form.kind !== "object") throw new Error("a form");
  const initial = Object.fromEntries(form.fields.map(({ name, field }) => [name, field.initial]));
  expect(objectOf(form.fields, initial)).toEqual({ name: "", count: 2, size: "large" });
  expect(objectOf(form.fields, { ...initial, name: "x", note: "y", count: "-1", size: "", sure: "1" })).toEqual({
    name: "x",
    note: "y",
    count: -1,
    sure: false,
  });
});
