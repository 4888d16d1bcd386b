/** Measures what a call costs beside the service's own time, and what results and schemas cost in context. */
import { readConfig } from "../src/config/config.ts";
import { instructionsFor } from "../src/server/instructions.ts";
import { OURS } from "./contenders.ts";
import { atMost, printSamples, type Sample, sample, type Verdict } from "./measure.ts";
import { openPlace } from "./place.ts";
import { RawClient } from "./raw-client.ts";

const MEBIBYTE = 1024 * 1024;

async function timed(rounds: number, run: (round: number) => Promise<unknown>): Promise<number[]> {
  const values: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const beganAt = performance.now();
    await run(round);
    if (round >= 0) values.push(performance.now() - beganAt);
  }
  return values;
}

export async function benchCalls(rounds: number): Promise<{ samples: Sample[]; verdicts: Verdict[] }> {
  // Polled every 5 ms of a 5 ms grid: what is left is our own time between seeing success and answering.
  const place = await openPlace(MEBIBYTE);
  const client = new RawClient(OURS, place.env);
  try {
    await client.initialize();
    const tools = await client.request("tools/list", {});
    const voices = await timed(rounds * 10, () => client.call("list_voices", { language: "en" }));
    const generated: number[] = [];
    for (let round = -1; round < rounds; round += 1) {
      // Create slots refill every 60 ms at this scale; waiting for one is not our overhead.
      await new Promise((resolve) => setTimeout(resolve, 70));
      const beganAt = performance.now();
      await client.call("generate_audio", { prompt: `Round ${round} of the bench` });
      if (round >= 0) generated.push(performance.now() - beganAt);
    }
    const typical = await client.call("generate_audio", {
      prompt: "A typical text for a typical result of a typical length, as an assistant would send it.",
    });
    const replay = await timed(rounds, () =>
      client.call("generate_audio", { prompt: "Round 0 of the bench" }),
    );
    const samples = [
      sample("list_voices round trip", "ms", voices),
      sample("replay from the ledger, 1 MiB verified", "ms", replay),
      sample("whole generation of 1 MiB, ready at once", "ms", generated),
    ];
    printSamples("Calls", samples);
    const median = (index: number): number => samples[index]?.median ?? Number.NaN;
    const POLL_GRID_MS = 5;
    return {
      samples,
      verdicts: [
        atMost(
          "context",
          "tools/list, bytes",
          Buffer.byteLength(JSON.stringify(tools.result["tools"])),
          10_240,
        ),
        atMost("context", "instructions, characters", instructionsFor(readConfig({})).length, 1200),
        atMost("context", "typical result, bytes", Buffer.byteLength(JSON.stringify(typical.result)), 1200),
        atMost("calls", "list_voices round trip", median(0), 2, " ms"),
        atMost("calls", "replay of 1 MiB from the ledger", median(1), 15, " ms"),
        atMost("calls", "generation of 1 MiB less the poll grid", median(2) - POLL_GRID_MS, 50, " ms"),
      ],
    };
  } finally {
    await client.stop();
    await place.remove();
  }
}
