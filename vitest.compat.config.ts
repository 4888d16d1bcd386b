import { defineConfig } from "vitest/config";

/** What other people's tools say of this server; they are fetched when this runs, so it is no part of `npm test`. */
export default defineConfig({
  test: {
    include: ["test/**/*.compat.ts"],
    testTimeout: 120_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
});
