/** Measures a server that has done its work: what wakes it up, and what days of work leave behind. */
import { whyNoRedis } from "../test/support/redis-server.ts";
import type { StoreName } from "./filled-ledger.ts";
import { type Evening, liveDays } from "./idle-days.ts";
import { MINIMAL, watchIdlers } from "./idle-minutes.ts";
import { atMost, printSamples, type Sample, sample, type Verdict } from "./measure.ts";

/** One in a round: V8 clears up somewhat longer where there was more work. */
const MOST_WAKE_UPS = 6;
/** V8 goes on compiling for some days; of what the program itself holds nothing grows. */
const MOST_HEAP_A_DAY_MIB = 1;

async function benchMinutes(rounds: number): Promise<{ samples: Sample[]; verdicts: Verdict[] }> {
  const idlers = await watchIdlers(rounds);
  const samples = idlers.map(({ perMinute }) => perMinute);
  printSamples("Idle: wake-ups of a server that has done its work", samples);
  const floor = samples.find(({ name }) => name === MINIMAL)?.median ?? Number.NaN;
  const ours = idlers.filter(({ name }) => name.startsWith("ours"));
  return {
    samples,
    verdicts: [
      ...ours.map(({ name, perMinute }) =>
        atMost(
          "idle",
          `wake-ups a minute, ${name}, beyond the minimal server`,
          perMinute.median - floor,
          MOST_WAKE_UPS,
        ),
      ),
      atMost("idle", "handles grown meanwhile", Math.max(...ours.map(({ handles }) => handles)), 0),
    ],
  };
}

/** From the first evening to the last, a day. */
function grown(evenings: readonly Evening[], of: (evening: Evening) => number): number {
  const [first, last] = [evenings[0], evenings.at(-1)];
  return first === undefined || last === undefined
    ? Number.NaN
    : (of(last) - of(first)) / (evenings.length - 1);
}

async function benchDays(name: StoreName): Promise<{ samples: Sample[]; verdicts: Verdict[] }> {
  const evenings = await liveDays(name);
  const heapMiB = grown(evenings, (evening) => evening.heapMiB);
  console.log(`\nIdle: simulated days of work on ${name}`);
  for (const [day, evening] of evenings.entries()) {
    console.log(
      `  day ${day + 1}: heap ${evening.heapMiB.toFixed(2)} MiB, resident ${evening.residentMiB.toFixed(1)} MiB, ${evening.handles} handles, ${evening.files} files beside the audio, ${evening.timers} timer; woken ${evening.wakeUpsByDay} times by day, ${evening.wakeUpsAtNight} at night`,
    );
  }
  const worst = (of: (evening: Evening) => number): number => Math.max(...evenings.map(of));
  const what = (figure: string): string => `${figure}, simulated days on ${name}`;
  return {
    samples: [
      sample(
        `${name}: heap after a day`,
        "MiB",
        evenings.map((evening) => evening.heapMiB),
      ),
      sample(
        `${name}: resident after a day`,
        "MiB",
        evenings.map((evening) => evening.residentMiB),
      ),
    ],
    verdicts: [
      atMost("idle", what("heap grown a day"), Math.max(0, heapMiB), MOST_HEAP_A_DAY_MIB, " MiB"),
      atMost(
        "idle",
        what("handles grown a day"),
        grown(evenings, ({ handles }) => handles),
        0,
      ),
      atMost(
        "idle",
        what("files grown a day beside audio"),
        grown(evenings, ({ files }) => files),
        0,
      ),
      // The one that keeps the process alive, every 24 days.
      atMost(
        "idle",
        what("timers left"),
        worst(({ timers }) => timers),
        1,
      ),
      atMost(
        "idle",
        what("timers run in a night"),
        worst(({ wakeUpsAtNight }) => wakeUpsAtNight),
        0,
      ),
    ],
  };
}

export async function benchIdle(rounds: number): Promise<{ samples: Sample[]; verdicts: Verdict[] }> {
  const stores: StoreName[] = whyNoRedis() === undefined ? ["SQLite", "Redis"] : ["SQLite"];
  // Who sleeps is counted from outside, while others live through their days.
  const [minutes, ...days] = await Promise.all([benchMinutes(rounds), ...stores.map(benchDays)]);
  return {
    samples: [minutes, ...days].flatMap(({ samples }) => samples),
    verdicts: [minutes, ...days].flatMap(({ verdicts }) => verdicts),
  };
}
