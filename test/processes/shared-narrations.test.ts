/** A narration on two machines that share a PostgreSQL: paid for once, and each machine has files of its own. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ELSEWHERE, whyNotElsewhere } from "../mcp-tasks/task-processes.ts";
import { buildText, narrationOf, PART_BYTES } from "../narration/narrator.ts";
import { BIN, FAST, NODE } from "../support/bin-under-test.ts";
import { PostgresServer, whyNoPostgres } from "../support/postgres-server.ts";
import { killHard } from "../support/processes.ts";
import { skipBecause } from "../support/skip-because.ts";
import type { TestFolders } from "../support/test-folders.ts";
import { startCommandClient, type ToolClient } from "../support/tool-client.ts";
import { errorOf } from "../support/tool-result.ts";
import { startProcess, startService, useTestFolders } from "./server-processes.ts";

const CALL = { text: buildText("One", "Two", "Three", "Four"), output_format: "pcm", max_credits: 5000 };

/** Calls `narrate`. If a busy machine makes the database too slow, repeats the call, as the error advises. */
async function narrate(client: ToolClient, more: Record<string, unknown> = {}) {
  for (let calls = 1; ; calls += 1) {
    const outcome = await client.call("narrate", { ...CALL, ...more }, { timeoutMs: 90_000 });
    const isAway = outcome.isError === true && errorOf(outcome).code === "store_unavailable";
    if (!isAway || calls === 5) return narrationOf(outcome);
  }
}

describe(
  "two machines that share a PostgreSQL",
  skipBecause(whyNoPostgres() ?? whyNotElsewhere() ?? null),
  () => {
    /** Starts a service whose tasks take the given time, and a process on each machine. */
    async function machines(processingMs: number) {
      const postgres = await PostgresServer.start();
      onTestFinished(() => postgres.remove());
      const service = await startService({ processingMs, audioBytes: PART_BYTES });
      const settings = { ...FAST, AUDIO_STORE_URL: postgres.url };
      const [here, there]: [TestFolders, TestFolders] = [await useTestFolders(), await useTestFolders()];
      const [command = "", ...args] = [...ELSEWHERE, NODE, BIN];
      const other = await startCommandClient({ command, args, env: there.env(service, settings) });
      onTestFinished(() => other.close());
      return { service, first: await startProcess(here, service, settings), here, second: other, there };
    }

    it("pay for a narration once, and each names its own files", async () => {
      const { service, first, here, second, there } = await machines(50);
      const mine = await narrate(first);
      const theirs = await narrate(second);
      expect([mine.status, theirs.status]).toEqual(["finished", "finished"]);
      for (const [{ files }, { outputDir }] of [
        [mine, here],
        [theirs, there],
      ] as const) {
        expect(files).toHaveLength(1);
        for (const { path } of files) {
          expect(path.startsWith(join(outputDir, "/"))).toBe(true);
          expect(existsSync(path)).toBe(true);
        }
      }
      expect(theirs.files[0]?.sha256).toBe(mine.files[0]?.sha256);
      expect(service.tasks.size).toBe(4);
    }, 120_000);

    it("continue a call that waits on one machine if the driver on the other one is killed", async () => {
      const { service, first, second, there } = await machines(400);
      const killTarget = first.call("narrate", CALL).catch(() => undefined);
      await expect.poll(() => service.tasks.size, { timeout: 60_000 }).toBeGreaterThan(0);
      const waiting = narrate(second, { wait_seconds: 50 });
      await expect.poll(() => service.tasks.size, { timeout: 60_000 }).toBeGreaterThan(1);
      await killHard(first.pid);
      await killTarget;
      const theirs = await waiting;
      expect(theirs.status).toBe("finished");
      for (const { path } of theirs.files) expect(path.startsWith(join(there.outputDir, "/"))).toBe(true);
      expect(theirs.files).toHaveLength(1);
      expect(service.tasks.size).toBe(4);
    }, 120_000);
  },
);
