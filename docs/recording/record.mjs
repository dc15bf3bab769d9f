// Takes pictures of a turn on the page of `stepwell serve`, one whenever something has changed: `node record.mjs ADDRESS
// FOLDER`. Each file is named by its time in milliseconds.
import { createRequire } from "node:module";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const { chromium } = createRequire(new URL("../../host/page/package.json", import.meta.url))("@playwright/test");
const [address, folder] = process.argv.slice(2);
const QUESTION = "Look at both numbers, and make Bob's one more.";
const SIZE = { width: 900, height: 620 };
/** How long a reader needs for the question to the user. */
const READ = 1200;
/** How long the end is looked at. */
const REST = 2500;

const browser = await chromium.launch({ executablePath: process.env.STEPWELL_CHROMIUM, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: SIZE, reducedMotion: "reduce", colorScheme: "light" });
await page.goto(address);
const message = page.getByRole("textbox", { name: "Message" });
await message.waitFor();

const began = Date.now();
let last;
const look = async () => {
  const picture = await page.screenshot();
  if (last?.equals(picture)) return;
  last = picture;
  writeFileSync(join(folder, `${String(Date.now() - began).padStart(6, "0")}.png`), picture);
};

for (const word of QUESTION.split(/(?<= )/)) {
  await message.pressSequentially(word);
  await look();
}
await message.press("Enter");
const stop = page.getByRole("button", { name: "Stop", exact: true });
await stop.waitFor();
while (await stop.isVisible()) {
  await look();
  const approve = page.getByRole("button", { name: "Approve" });
  if (await approve.isVisible()) {
    await look();
    await page.waitForTimeout(READ);
    await approve.click();
  }
}
await look();
writeFileSync(join(folder, `${String(Date.now() - began + REST).padStart(6, "0")}.png`), last);
await browser.close();
