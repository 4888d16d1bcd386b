/**
 * Measures how long a narration of 24 parts takes under the service's limits, compared with the shortest time
 * that they allow.
 */
import { estimateSeconds } from "../src/contract/estimate.ts";
import {
  LIMIT_WINDOW_SECONDS,
  MAX_CONCURRENT_TASKS,
  POLL_INTERVAL_SECONDS,
  SUBMISSIONS_PER_WINDOW,
} from "../src/contract/service-limits.ts";
import { FakeService } from "../test/support/fake-service.ts";
import { compare, report, timed } from "./measure.ts";
import { OURS } from "./programs.ts";
import { withServer } from "./raw-client.ts";
import { openSetup } from "./setup.ts";

const ROUNDS = 3;
/** Limits and tasks run ten times faster than in reality, so that the server's own costs weigh ten times as much. */
const TIME_SCALE = 0.1;
const PARTS = 24;
/** The length of each part's raw audio. It is short, so that joining takes almost no time. */
const AUDIO_SECONDS = 4;
const RATE_HZ = 24_000;
const SENTENCE = "The river ran past the old mill and on to the sea. ";

/** Chapters of one part each, of 17 to 78 estimated seconds. */
const TEXT = Array.from({ length: PARTS }, (_, index) => {
  const sentences = SENTENCE.repeat(4 + ((index * 7) % 19));
  return `Chapter ${index + 1}\n\nPart ${index} begins. ${sentences}`.trim();
}).join("\n\n");

/** Returns how long the service takes for a part: 12 to 37 s in this text. */
const processingSeconds = (prompt: string): number => 5 + 0.4 * estimateSeconds(prompt);

/**
 * Computes the shortest possible time. Submissions are sent in order, each as soon as the limits allow it. The end of a
 * task is seen at the next poll. Everything else takes no time.
 *
 * @returns seconds from the first submission to the last end
 */
function optimumSeconds(processing: readonly number[]): number {
  const createdAt: number[] = [];
  const concurrencySlotFreeAt = Array.from({ length: MAX_CONCURRENT_TASKS }, () => 0);
  for (const [index, seconds] of processing.entries()) {
    const rateAllowsAt =
      (createdAt[index - SUBMISSIONS_PER_WINDOW] ?? -LIMIT_WINDOW_SECONDS) + LIMIT_WINDOW_SECONDS;
    const firstFree = Math.min(...concurrencySlotFreeAt);
    const at = Math.max(firstFree, rateAllowsAt);
    createdAt.push(at);
    const polls = Math.max(1, Math.ceil(seconds / POLL_INTERVAL_SECONDS));
    concurrencySlotFreeAt[concurrencySlotFreeAt.indexOf(firstFree)] = at + polls * POLL_INTERVAL_SECONDS;
  }
  return Math.max(...concurrencySlotFreeAt);
}

let optimum = Number.NaN;

async function narrate(): Promise<number> {
  const service = await FakeService.start({
    limitScale: TIME_SCALE,
    audioBytes: AUDIO_SECONDS * RATE_HZ * 2,
    audioSeconds: AUDIO_SECONDS,
    hasDistinctSounds: true,
    processingMsOf: (prompt) => processingSeconds(prompt) * 1000 * TIME_SCALE,
  });
  const setup = await openSetup(service, TIME_SCALE);
  try {
    return await withServer(OURS, setup.env, async (client) => {
      // First request a free plan, which loads and opens everything, because the start is measured elsewhere.
      await client.call("narrate", { text: TEXT });
      let result: Record<string, unknown> = {};
      const tookMs = await timed(async () => {
        const paid = { max_credits: 150 * PARTS * 2, wait_seconds: 3600 };
        result = await client.call("narrate", { text: TEXT, output_format: "pcm", ...paid });
      });
      const tasks = [...service.tasks.values()];
      if (!JSON.stringify(result).includes('"status":"finished"') || tasks.length !== PARTS) {
        throw new Error(`${tasks.length} tasks in place of ${PARTS}: ${JSON.stringify(result)}`);
      }
      if (service.rateLimitedCount > 0)
        throw new Error(`${service.rateLimitedCount} requests were refused with 429`);
      optimum = optimumSeconds(tasks.map((task) => (task.processingMs ?? 0) / 1000 / TIME_SCALE));
      return tookMs / 1000 / TIME_SCALE;
    });
  } finally {
    await setup.remove();
  }
}

report([
  {
    name: `a narration of ${PARTS} parts`,
    unit: "s",
    comparedWith: "optimum under the limits",
    ...(await compare(ROUNDS, narrate, () => optimum)),
    goal: { of: "ratio", atMost: 1.05 },
  },
]);
