/**
 * With a poll interval far below what 60 reads a minute allow, the audio is saved when it is ready and not a minute
 * later.
 */
import { expect, it } from "vitest";
import { taskOf } from "../support/tool-result.ts";
import { startServer, startService, useTestFolders } from "./server-processes.ts";

/** A minute takes 6 s, both in the server and in the service. */
const SCALE = 0.1;
/**
 * How many reads a minute the service answers. Polls that are too frequent use them up, and then nothing is read until
 * the minute is over.
 */
const READS = 60;
const SETTINGS = { AUDIO_TIME_SCALE: String(SCALE), AUDIO_POLL_INTERVAL_SECONDS: "0.1" };

it("two tasks polled at once, and two more after them, cause no 429 either", async () => {
  const service = await startService({ processingMs: 1000, limitScale: SCALE });
  const client = await startServer(await useTestFolders(), service, SETTINGS);
  const prompts = ["One", "Two", "Three", "Four"];
  const all = prompts.map((prompt) => client.call("generate_audio", { prompt }));
  for (const outcome of await Promise.all(all)) expect(taskOf(outcome).status).toBe("succeeded");
  expect(service.count("query") + service.count("content")).toBeLessThan(READS);
  expect(service.rateLimitedCount).toBe(0);
});
