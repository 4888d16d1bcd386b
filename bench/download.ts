/** Measures the first download of a process: 64 MiB over loopback, compared with curl and sha256sum. */
import { execFileSync } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { compare, report, timed } from "./measure.ts";
import { OURS } from "./programs.ts";
import { withServer } from "./raw-client.ts";
import { openSetup, startService } from "./setup.ts";

const ROUNDS = 21;
const AUDIO_BYTES = 64 * 1024 * 1024;
/** Time for a server to free the memory that only its start needed. */
const SETTLING_MS = 300;

const saved = z.object({
  isError: z.literal(false).optional(),
  structuredContent: z.object({
    task_id: z.string(),
    audio: z.object({ size_bytes: z.literal(AUDIO_BYTES) }),
  }),
});

const setup = await openSetup(await startService(AUDIO_BYTES));

/** Downloads into a new folder, because audio that is already saved is not downloaded again. */
async function download(taskId: string): Promise<number> {
  const folder = join(setup.root, "elsewhere");
  const env = { ...setup.env, AUDIO_OUTPUT_DIR: folder };
  return await withServer(OURS, env, async (client) => {
    await sleep(SETTLING_MS);
    let result: unknown;
    const tookMs = await timed(async () => {
      result = await client.call("download_audio", { task_id: taskId });
    });
    saved.parse(result);
    await rm(folder, { recursive: true });
    return tookMs;
  });
}

async function curl(taskId: string): Promise<number> {
  const target = join(setup.root, "curl.bin");
  const url = `${setup.service.baseUrl}/api/v1/audio/generations/${taskId}/content`;
  const options = ["-sf", "-H", `Authorization: Bearer ${setup.service.apiKey}`, "-o", target];
  const tookMs = await timed(() =>
    execFileSync("sh", ["-c", 'curl "$@" && sha256sum "$0" >/dev/null', target, ...options, url]),
  );
  // Remove the file. The server creates a new file in each round, so curl must create one too.
  await rm(target);
  return tookMs;
}

try {
  const taskId = await withServer(OURS, setup.env, async (client) => {
    const result = saved.parse(await client.call("generate_audio", { prompt: "Large" }));
    return result.structuredContent.task_id;
  });
  const times = await compare(
    ROUNDS,
    () => download(taskId),
    () => curl(taskId),
  );
  report([
    {
      name: "64 MiB, first call of a process",
      unit: "ms",
      comparedWith: "curl and sha256sum",
      ...times,
      goal: { of: "difference", atMost: 60 },
    },
  ]);
} finally {
  await setup.remove();
}
