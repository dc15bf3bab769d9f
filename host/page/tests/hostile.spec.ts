// What a model, a tool or a user wrote is shown, and does nothing.
import { ATTACK } from "./script";
import { expect, look, test } from "./harness";

/** What must not be in the page, wherever somebody's words are shown. */
const FORBIDDEN = ["script", "iframe", "style", "form", "input", "svg", "video", "object", "embed", "base", "meta", "link", "img"];

test("attacks in text, reasoning, arguments, results and titles do nothing", async ({ chat, page, server }) => {
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  await page.reload();
  await chat.say(`attack ${ATTACK.replaceAll("\n", " ")}`);
  await expect(chat.last).toContainText("The end of the attack.");
  await chat.over();
  for (const tool of await chat.tool().all()) await tool.getByRole("button").first().click();
  await chat.last.getByText("Reasoning", { exact: true }).click();

  for (const session of [false, true]) {
    // As it is stored, too.
    if (session) {
      await page.reload();
      await expect(chat.last).toContainText("The end of the attack.");
      for (const tool of await chat.tool().all()) await tool.getByRole("button").first().click();
    }
    const shown = page.locator(".markdown, .bubble, .data, .sessions .title, h1");
    for (const tag of FORBIDDEN) await expect(shown.locator(tag)).toHaveCount(0);
    const odd = await page.locator("#app *").evaluateAll((elements) =>
      elements.flatMap((element) => element.getAttributeNames().filter((name) => /^on|^style$|^srcdoc$|^formaction$/.test(name) && element.id !== "composer")),
    );
    expect(odd, "no attribute that runs or paints").toEqual([]);
    const links = await page.locator(".markdown a[href]").evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).protocol));
    expect(new Set(links)).toEqual(new Set(["https:"]));
    expect(await page.locator("#app").count()).toBe(1);
    expect(await page.evaluate(() => (window as { attacked?: number }).attacked)).toBeUndefined();
  }
  // What was written can still be read.
  await expect(chat.last.locator("pre code").first()).toContainText("<script>window.attacked=1</script>");
  await expect(page.locator(".data", { hasText: "onerror" }).first()).toBeVisible();
  await look(page, "attacked");

  // A click on what looks like a link goes nowhere.
  const answer = chat.last.locator(".message .markdown").first();
  for (const words of ["a link", "another", "data", "vb"]) await answer.locator("a", { hasText: words }).first().click();
  expect(await page.evaluate(() => (window as { attacked?: number }).attacked)).toBeUndefined();
  expect(page.url()).toContain(server.url);
});

test("a title that somebody else wrote is only words", async ({ chat, page, server }) => {
  await chat.say("hello");
  await chat.over();
  const title = `<img src=x onerror="window.attacked=1">\u202e<script>window.attacked=1</script>`;
  const thread = new URL(page.url()).hash.split("/")[1];
  const renamed = await page.request.patch(`${server.url}threads/${thread}`, { data: { title } });
  expect(renamed.status()).toBe(204);
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("<img src=x");
  await expect(page.locator(".sessions .title")).toContainText("<script>");
  expect(await page.evaluate(() => (window as { attacked?: number }).attacked)).toBeUndefined();
});

test("the page is served with a strict policy", async ({ page, server }) => {
  const response = await page.request.get(server.url);
  const policy = response.headers()["content-security-policy"] ?? "";
  for (const part of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"]) {
    expect(policy).toContain(part);
  }
  expect(policy).not.toMatch(/unsafe|\*/);
  expect(response.headers()).toMatchObject({ "x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "x-frame-options": "DENY" });
});

test("what is put into the page by force does not run either", async ({ page, server }) => {
  await page.goto(server.url);
  const blocked = await page.evaluate(async () => {
    const violation = new Promise<string>((go) => addEventListener("securitypolicyviolation", (event) => go(event.effectiveDirective), { once: true }));
    try {
      document.body.innerHTML = "<img src=x onerror='window.attacked=1'>";
    } catch {
      // Trusted types refuse it.
    }
    return violation;
  });
  expect(blocked).toBe("require-trusted-types-for");
  expect(await page.evaluate(() => (window as { attacked?: number }).attacked)).toBeUndefined();
});
