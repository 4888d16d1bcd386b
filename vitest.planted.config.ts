import { defineConfig } from "vitest/config";

/** Whether the models find faults that are planted in copies of the sources. Takes minutes, so it is no part of `npm test`. */
export default defineConfig({
  test: {
    globalSetup: ["test/support/scratch-disk.ts"],
    include: ["test/**/*.planted.ts"],
    testTimeout: 300_000,
    fileParallelism: false,
  },
});
