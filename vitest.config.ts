import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/support/fresh-build.ts",
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Most tests wait for processes, so one worker a core leaves both idle; by default there would be one alone.
    maxWorkers: 3,
    reporters: ["default"],
  },
});
