import { defineConfig } from "@playwright/test";

const output = process.env.STEPWELL_PAGE_OUTPUT ?? "test-results";

export default defineConfig({
  testDir: "tests",
  outputDir: `${output}/traces`,
  // Each test has a server of its own, and they all share few processors.
  workers: 1,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  forbidOnly: Boolean(process.env.CI),
  reporter: [["list"]],
  use: {
    viewport: { width: 1200, height: 800 },
    trace: "retain-on-failure",
    contextOptions: { reducedMotion: "reduce" },
    launchOptions: {
      ...(process.env.STEPWELL_CHROMIUM ? { executablePath: process.env.STEPWELL_CHROMIUM } : {}),
      args: ["--no-sandbox"],
    },
  },
});
