/** Measures saving 64 MiB over loopback, against curl and sha256sum, and the memory that it takes. */
import { execFileSync } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { OURS } from "./contenders.ts";
import { atMost, printSamples, type Sample, sample, type Verdict } from "./measure.ts";
import { openPlace, type Place } from "./place.ts";
import { RawClient } from "./raw-client.ts";

const MEBIBYTE = 1024 * 1024;
const LARGEST_BYTES = 64 * MEBIBYTE;

const made = z.object({ structuredContent: z.object({ task_id: z.string() }) });

function curl(place: Place, taskId: string): number {
  const target = join(place.root, "curl.bin");
  const url = `${place.baseUrl}/api/v1/audio/generations/${taskId}/content`;
  const beganAt = performance.now();
  const options = ["-s", "-H", `Authorization: Bearer ${place.apiKey}`, "-o", target];
  execFileSync("sh", ["-c", 'curl "$@" && sha256sum "$0" >/dev/null', target, ...options, url]);
  return performance.now() - beganAt;
}

async function timedDownload(client: RawClient, taskId: string): Promise<number> {
  const beganAt = performance.now();
  await client.call("download_audio", { task_id: taskId });
  return performance.now() - beganAt;
}

/** Resident high-water mark above idle while audio of a size is saved. */
async function growthWhileSaving(audioBytes: number): Promise<number> {
  const place = await openPlace(audioBytes);
  const client = new RawClient(OURS, place.env);
  try {
    await client.initialize();
    await client.call("list_voices", {});
    const idle = client.residentMiB();
    await client.call("generate_audio", { prompt: "Memory" });
    return client.residentMiB("peak") - idle;
  } finally {
    await client.stop();
    await place.remove();
  }
}

export async function benchDownload(rounds: number): Promise<{ samples: Sample[]; verdicts: Verdict[] }> {
  const place = await openPlace(LARGEST_BYTES);
  const client = new RawClient(OURS, place.env);
  const firsts: number[] = [];
  const ours: number[] = [];
  const theirs: number[] = [];
  try {
    await client.initialize();
    const first = made.parse((await client.call("generate_audio", { prompt: "Large" })).result);
    const taskId = first.structuredContent.task_id;
    for (let round = -1; round < rounds; round += 1) {
      // A new machine for the ledger: another output folder downloads its own copy of the same task.
      const elsewhere = { ...place.env, AUDIO_OUTPUT_DIR: join(place.root, `out${round}`) };
      const other = new RawClient(OURS, elsewhere);
      await other.initialize();
      await other.call("list_tasks", {});
      const firstMs = await timedDownload(other, taskId);
      // The file is gone, so it is fetched again: now by a process that has its HTTP client loaded.
      await rm(elsewhere.AUDIO_OUTPUT_DIR, { recursive: true });
      const tookMs = await timedDownload(other, taskId);
      await other.stop();
      const curlMs = curl(place, taskId);
      if (round >= 0) {
        firsts.push(firstMs);
        ours.push(tookMs);
        theirs.push(curlMs);
      }
    }
  } finally {
    await client.stop();
    await place.remove();
  }
  const samples = [
    sample("64 MiB saved and verified", "ms", ours),
    sample("curl -o and sha256sum", "ms", theirs),
    sample("the same, first of its process", "ms", firsts),
  ];
  printSamples("Download", samples);
  const large = await growthWhileSaving(LARGEST_BYTES);
  const small = await growthWhileSaving(MEBIBYTE);
  const memory = [
    sample("above idle, saving 64 MiB", "MiB", [large]),
    sample("above idle, saving 1 MiB", "MiB", [small]),
  ];
  printSamples("Memory while saving", memory);
  return {
    samples: [...samples, ...memory],
    verdicts: [
      atMost(
        "download",
        "over curl and sha256sum",
        (samples[0]?.median ?? 0) / (samples[1]?.median ?? 0),
        1.2,
      ),
      atMost("memory", "above idle while saving 64 MiB", large, 96, " MiB"),
    ],
  };
}
