/** Measures saving 64 MiB over loopback, by a process that has done nothing yet and by one that has, against curl and sha256sum; and the memory that saving takes. */
import { execFileSync } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { OURS } from "./contenders.ts";
import { atMost, printSamples, ratio, type Sample, sample, sideBySide, type Verdict } from "./measure.ts";
import { openPlace, type Place } from "./place.ts";
import { RawClient } from "./raw-client.ts";

const MEBIBYTE = 1024 * 1024;
const LARGEST_BYTES = 64 * MEBIBYTE;
/** A disk that others use scatters more than a processor. */
const LEAST_ROUNDS = 21;
/** After the handshake a server still frees what its start has left behind. */
const SETTLING_MS = 300;

const FIRST = "64 MiB, the first call of a process";
const OPENED = "64 MiB, its ledger open already";
const LATER = "64 MiB, a later download";
const CURL = "curl -o and sha256sum";

const answered = z.object({
  isError: z.literal(true).optional(),
  structuredContent: z.object({ task_id: z.string() }),
});

async function curl(place: Place, taskId: string): Promise<number> {
  const target = join(place.root, "curl.bin");
  const url = `${place.baseUrl}/api/v1/audio/generations/${taskId}/content`;
  const beganAt = performance.now();
  const options = ["-s", "-H", `Authorization: Bearer ${place.apiKey}`, "-o", target];
  execFileSync("sh", ["-c", 'curl "$@" && sha256sum "$0" >/dev/null', target, ...options, url]);
  const tookMs = performance.now() - beganAt;
  // Writing over a file would be another work than making one.
  await rm(target);
  return tookMs;
}

/** Takes the time of a download into a folder that holds nothing, and empties it again. */
async function timedDownload(client: RawClient, taskId: string, folder: string): Promise<number> {
  const beganAt = performance.now();
  const { result } = await client.call("download_audio", { task_id: taskId });
  const tookMs = performance.now() - beganAt;
  answered.parse(result);
  await rm(folder, { recursive: true });
  return tookMs;
}

async function benchSpeed(rounds: number): Promise<Sample[]> {
  const place = await openPlace(LARGEST_BYTES);
  // Another output folder: nothing is there, so the audio of the known task is fetched.
  const folder = join(place.root, "elsewhere");
  const env = { ...place.env, AUDIO_OUTPUT_DIR: folder };
  const fresh = async (): Promise<RawClient> => {
    const client = new RawClient(OURS, env);
    await client.initialize();
    await sleep(SETTLING_MS);
    return client;
  };
  const maker = new RawClient(OURS, place.env);
  await maker.initialize();
  const { result } = await maker.call("generate_audio", { prompt: "Large" });
  const taskId = answered.parse(result).structuredContent.task_id;
  await maker.stop();
  const inFreshProcess = (prepare: (client: RawClient) => Promise<unknown>) => async (): Promise<number> => {
    const client = await fresh();
    try {
      await prepare(client);
      return await timedDownload(client, taskId, folder);
    } finally {
      await client.stop();
    }
  };
  try {
    return await sideBySide(
      [
        { name: FIRST, measure: inFreshProcess(async () => undefined) },
        { name: OPENED, measure: inFreshProcess((client) => client.call("list_tasks", {})) },
        { name: LATER, measure: inFreshProcess((client) => timedDownload(client, taskId, folder)) },
        { name: CURL, measure: () => curl(place, taskId) },
      ],
      "ms",
      rounds,
    );
  } finally {
    await place.remove();
  }
}

/** Resident high-water mark above what a process has after its handshake, while its first call makes and saves audio. */
async function benchMemory(name: string, audioBytes: number, rounds: number): Promise<Sample> {
  const place = await openPlace(audioBytes);
  const values: number[] = [];
  try {
    for (let round = -1; round < rounds; round += 1) {
      const client = new RawClient(OURS, place.env);
      await client.initialize();
      await sleep(SETTLING_MS);
      const idle = client.residentMiB();
      const { result } = await client.call("generate_audio", { prompt: `Memory ${round}` });
      answered.parse(result);
      if (round >= 0) values.push(client.residentMiB("peak") - idle);
      await client.stop();
    }
  } finally {
    await place.remove();
  }
  return sample(name, "MiB", values);
}

export async function benchDownload(
  givenRounds: number,
): Promise<{ samples: Sample[]; verdicts: Verdict[] }> {
  const rounds = Math.max(givenRounds, LEAST_ROUNDS);
  const speed = await benchSpeed(rounds);
  printSamples("Download", speed);
  const large = await benchMemory("above the handshake, 64 MiB", LARGEST_BYTES, rounds);
  const small = await benchMemory("above the handshake, 1 MiB", MEBIBYTE, rounds);
  printSamples("Memory while the first call saves", [large, small]);
  return {
    samples: [...speed, large, small],
    verdicts: [
      atMost("download", "64 MiB by the first call, over curl and sha256sum", ratio(speed, FIRST, CURL), 1),
      atMost("download", "64 MiB, ledger open, over curl and sha256sum", ratio(speed, OPENED, CURL), 1),
      atMost("download", "64 MiB later, over curl and sha256sum", ratio(speed, LATER, CURL), 1),
      atMost("memory", "above the handshake while saving 64 MiB", large.median, 40, " MiB"),
      atMost("memory", "above the handshake while saving 1 MiB", small.median, 20, " MiB"),
    ],
  };
}
