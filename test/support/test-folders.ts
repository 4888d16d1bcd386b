/** Temporary folders for one test, and the settings that name them. */
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The folders of one test. `env` returns environment variables that point at them. */
export interface TestFolders {
  readonly root: string;
  readonly outputDir: string;
  readonly stateDir: string;
  env(
    service: { baseUrl: string; apiKey: string } | null,
    more?: Record<string, string>,
  ): Record<string, string>;
  /** Returns the names in the output folder, sorted, temporary files included. */
  outputNames(): Promise<string[]>;
  remove(): Promise<void>;
}

export async function createTestFolders(): Promise<TestFolders> {
  const root = await mkdtemp(join(tmpdir(), "agm-test-"));
  const outputDir = join(root, "out");
  const stateDir = join(root, "state");
  return {
    root,
    outputDir,
    stateDir,
    env: (service, more = {}) => ({
      PATH: process.env["PATH"] ?? "",
      HOME: root,
      AUDIO_OUTPUT_DIR: outputDir,
      AUDIO_STATE_DIR: stateDir,
      // By default, only clients that are known to show resource links get them.
      AUDIO_RESOURCE_LINKS: "always",
      ...(service === null ? {} : { AUDIO_BASE_URL: service.baseUrl, AUDIO_API_KEY: service.apiKey }),
      ...more,
    }),
    outputNames: async () => (existsSync(outputDir) ? (await readdir(outputDir)).sort() : []),
    // Retry, because a server that is just ending may still write its compile cache.
    remove: () => rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }),
  };
}
