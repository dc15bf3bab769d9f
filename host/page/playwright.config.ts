import { defineConfig } from "@playwright/test";

const output = process.env.STEPWELL_PAGE_OUTPUT ?? "test-results";

export default defineConfig({
  testDir: "tests",
  outputDir: `${output}/traces`,
  // Each test has a server of its own, and they all share few processors.
  workers: 1,
  // A machine that others keep busy is slow: these are for what never comes.
  timeout: 900_000,
  expect: { timeout: 180_000 },
  forbidOnly: Boolean(process.env.CI),
  reporter: [["list"]],
  use: {
    viewport: { width: 1200, height: 800 },
    // A trace costs as much as the test: STEPWELL_PAGE_TRACE=1 keeps those of tests that fail.
    trace: process.env.STEPWELL_PAGE_TRACE ? "retain-on-failure" : "off",
    screenshot: "only-on-failure",
    contextOptions: { reducedMotion: "reduce" },
    launchOptions: {
      ...(process.env.STEPWELL_CHROMIUM ? { executablePath: process.env.STEPWELL_CHROMIUM } : {}),
      args: ["--no-sandbox"],
    },
  },
});
