/** Measures what a call costs beside the service's own time, and what results and schemas cost in context. */
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { readConfig } from "../src/config/config.ts";
import { instructionsFor } from "../src/server/instructions.ts";
import { withoutPlayer } from "../test/support/without-player.ts";
import { OURS, verifyingServer } from "./contenders.ts";
import { leastGenerations } from "./generation-floor.ts";
import { atMost, printSamples, type Sample, sample, type Verdict } from "./measure.ts";
import { openPlace } from "./place.ts";
import { RawClient } from "./raw-client.ts";

const MEBIBYTE = 1024 * 1024;

/** A disk that others use scatters more than a processor: the medians of 21 differ by half a millisecond from run to run. */
const LEAST_ROUNDS = 63;

const POLL_GRID_MS = 5;

const listed = z.object({
  tools: z.array(z.looseObject({ _meta: z.record(z.string(), z.unknown()).optional() })),
});

const saved = z.object({ structuredContent: z.object({ audio: z.object({ path: z.string() }) }) });

async function timed(rounds: number, run: (round: number) => Promise<unknown>): Promise<number[]> {
  const values: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const took = await msOf(() => run(round));
    if (round >= 0) values.push(took);
  }
  return values;
}

async function msOf(run: () => unknown): Promise<number> {
  const beganAt = performance.now();
  await run();
  return performance.now() - beganAt;
}

function hash(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

/** What a generation cannot do without, on the same disk: the ledger's journal three times, and the file between. */
function flushAlone(folder: string): void {
  const journal = openSync(join(folder, "journal"), "a");
  const file = openSync(join(folder, "audio"), "w");
  const pages = Buffer.alloc(48 * 1024, 1);
  for (let times = 0; times < 3; times += 1) {
    if (times === 2) {
      writeSync(file, Buffer.alloc(MEBIBYTE, 2));
      fsyncSync(file);
    }
    writeSync(journal, pages);
    fsyncSync(journal);
  }
  closeSync(journal);
  closeSync(file);
}

export async function benchCalls(givenRounds: number): Promise<{ samples: Sample[]; verdicts: Verdict[] }> {
  const rounds = Math.max(givenRounds, LEAST_ROUNDS);
  // Polled every 5 ms of a 5 ms grid: what is left is our own time between seeing success and answering.
  const place = await openPlace(MEBIBYTE);
  const client = new RawClient(OURS, place.env);
  const least = await verifyingServer();
  const leastClient = new RawClient({ ...least, args: [...least.args, join(place.root, "least.sqlite")] });
  try {
    await client.initialize();
    await leastClient.initialize();
    const tools = await client.request("tools/list", {});
    const voices = await timed(rounds * 10, () => client.call("list_voices", { language: "en" }));
    // So that both have answered as often before they are measured.
    await timed(rounds * 10, () => leastClient.request("tools/list", {}));
    const generated: number[] = [];
    const replayed: number[] = [];
    const hashed: number[] = [];
    const verified: number[] = [];
    const flushed: number[] = [];
    for (let round = -1; round < rounds; round += 1) {
      // Create slots refill every 60 ms at this scale; waiting for one is not our overhead.
      await new Promise((resolve) => setTimeout(resolve, 70));
      const prompt = `Round ${round} of the bench`;
      const generationMs = await msOf(() => client.call("generate_audio", { prompt }));
      const { path } = saved.parse((await client.call("generate_audio", { prompt })).result).structuredContent
        .audio;
      // The file that is asked for again and again is the same for both, and so is what the disk remembers of it.
      const replayMs = await msOf(() => client.call("generate_audio", { prompt }));
      const hashMs = await msOf(() => hash(path));
      await leastClient.call("verify", { path });
      const leastMs = await msOf(() => leastClient.call("verify", { path }));
      const flushMs = await msOf(() => flushAlone(place.root));
      await rm(join(place.root, "audio"));
      if (round < 0) continue;
      generated.push(generationMs);
      replayed.push(replayMs);
      hashed.push(hashMs);
      verified.push(leastMs);
      flushed.push(flushMs);
    }
    const typical = await client.call("generate_audio", {
      prompt: "A typical text for a typical result of a typical length, as an assistant would send it.",
    });
    const samples = [
      sample("list_voices round trip", "ms", voices),
      sample("replay from the ledger, 1 MiB verified", "ms", replayed),
      sample("the same file read and hashed", "ms", hashed),
      sample("the same file verified by the smallest server", "ms", verified),
      sample("whole generation of 1 MiB, ready at once", "ms", generated),
      sample("the least that a generation takes", "ms", await leastGenerations(rounds, POLL_GRID_MS)),
      sample("the flushes of it alone", "ms", flushed),
    ];
    printSamples("Calls", samples);
    const median = (index: number): number => samples[index]?.median ?? Number.NaN;
    return {
      samples,
      verdicts: [
        atMost(
          "context",
          "tools/list without what points at the player, bytes",
          Buffer.byteLength(JSON.stringify(withoutPlayer(listed.parse(tools.result).tools))),
          10_240,
        ),
        atMost("context", "instructions, characters", instructionsFor(readConfig({})).length, 1200),
        atMost("context", "typical result, bytes", Buffer.byteLength(JSON.stringify(typical.result)), 1200),
        atMost("calls", "list_voices round trip", median(0), 2, " ms"),
        atMost("calls", "replay of 1 MiB, over hashing the file alone", median(1) - median(2), 1, " ms"),
        atMost("calls", "generation of 1 MiB less the poll grid", median(4) - POLL_GRID_MS, 10, " ms"),
      ],
    };
  } finally {
    await client.stop();
    await leastClient.stop();
    await place.remove();
  }
}
