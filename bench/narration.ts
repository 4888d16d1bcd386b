/** Measures how near the limits' own optimum narrations of 24 parts come home: `--scale 0.1 [--json]`; the arithmetic is printed beside it. */
import { parseArgs } from "node:util";
import { estimateSeconds } from "../src/contract/estimate.ts";
import { LIMIT_WINDOW_SECONDS, POLL_INTERVAL_SECONDS } from "../src/contract/limits.ts";
import { type CountedTask, CountingService } from "../test/support/counting-service.ts";
import { createWorkplace, type Driver, drive } from "../test/support/workplace.ts";
import { optimumSeconds } from "./optimum.ts";

const { values } = parseArgs({
  options: {
    scale: { type: "string", default: "0.1" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const scale = Number(values.scale);

const PARTS = 24;
const GOAL = 1.05;
/** What the service hands out for each part: 4 s of raw sound, so that joining takes no time that counts. */
const AUDIO_SECONDS = 4;
const RATE_HZ = 24_000;
const SENTENCE = "The river ran past the old mill and on to the sea. ";

interface Work {
  readonly name: string;
  /** Seconds of life from the acceptance to the end, for a text of so many estimated seconds. */
  secondsFor(estimatedSeconds: number): number;
}

const SHORT: Work = { name: "2 s", secondsFor: () => 2 };
const ON_GRID: Work = { name: "20 s", secondsFor: () => 20 };
/** The worst for a grid that begins at the acceptance. */
const OFF_GRID: Work = { name: "21 s", secondsFor: () => 21 };
/** 12 to 37 s. */
const BY_LENGTH: Work = { name: "5 s + 0.4 s a second", secondsFor: (seconds) => 5 + 0.4 * seconds };

interface Setting {
  readonly work: Work;
  readonly processes: number;
  /** One that all processes ask for, or one for each of them; 24 parts in all. */
  readonly narrations: number;
  /** The same processes have spoken as many parts before. */
  readonly isSecond?: boolean;
}

const SETTINGS: readonly Setting[] = [
  ...[SHORT, ON_GRID, OFF_GRID, BY_LENGTH].map((work) => ({ work, processes: 1, narrations: 1 })),
  ...[OFF_GRID, BY_LENGTH].map((work) => ({ work, processes: 1, narrations: 1, isSecond: true })),
  ...[SHORT, ON_GRID, BY_LENGTH].map((work) => ({ work, processes: 4, narrations: 1 })),
  ...[SHORT, ON_GRID, BY_LENGTH].map((work) => ({ work, processes: 4, narrations: 4 })),
];

/** Chapters of one part each, of 17 to 78 estimated seconds. */
function textsOf(narrations: number, seed: string): string[] {
  const chapters = Array.from({ length: PARTS }, (_, index) => {
    const sentences = 4 + ((index * 7) % 19);
    return `Chapter ${index + 1}\n\n${seed} ${index} begins. ${SENTENCE.repeat(sentences)}`.trim();
  });
  const each = PARTS / narrations;
  return Array.from({ length: narrations }, (_, index) =>
    chapters.slice(index * each, (index + 1) * each).join("\n\n"),
  );
}

/** From the first call to the last result, in seconds of life. */
async function narrate(team: readonly Driver[], texts: readonly string[]): Promise<number> {
  const beganAtMs = performance.now();
  const calls = team.map((driver, index) =>
    driver.call(
      "narrate",
      {
        text: texts[index % texts.length] ?? "",
        output_format: "pcm",
        max_credits: 150 * PARTS * 2,
        wait_seconds: 3600,
      },
      { timeoutMs: 3_600_000 },
    ),
  );
  for (const outcome of await Promise.all(calls)) {
    if (outcome.structuredContent?.["status"] !== "finished") throw new Error(JSON.stringify(outcome));
  }
  return (performance.now() - beganAtMs) / 1000 / scale;
}

/** In seconds of life since its acceptance: when each task had ended, and when somebody saw that. */
function endsOf(service: CountingService, tasks: readonly CountedTask[]) {
  return tasks.map((task) => {
    const seenAtMs = service.exchanges.findLast(
      ({ kind, taskId }) => kind === "query" && taskId === task.id,
    )?.atMs;
    const life = (ms: number): number => ms / 1000 / scale;
    return {
      ended: Math.max(POLL_INTERVAL_SECONDS, life(task.processingMs ?? 0)),
      seen: life((seenAtMs ?? Number.NaN) - task.acceptedAtMs),
    };
  });
}

const to = (digits: number, value: number): number => Math.round(value * 10 ** digits) / 10 ** digits;

async function measure({ work, processes, narrations, isSecond = false }: Setting) {
  const service = await CountingService.start({
    limitScale: scale,
    audioBytes: AUDIO_SECONDS * RATE_HZ * 2,
    audioSeconds: AUDIO_SECONDS,
    soundOfTheirOwn: true,
    processingMsOf: (prompt) => work.secondsFor(estimateSeconds(prompt)) * 1000 * scale,
  });
  const workplace = await createWorkplace();
  const env = workplace.env(service, { AUDIO_TIME_SCALE: String(scale) });
  const team = await Promise.all(Array.from({ length: processes }, () => drive(env)));
  try {
    // Loads and opens everything, so that starting is not measured here.
    const texts = textsOf(narrations, "Part");
    await Promise.all(team.map((driver) => driver.call("narrate", { text: texts[0] ?? "" })));
    if (isSecond) {
      await narrate(team, textsOf(narrations, "Earlier part"));
      // Its creates are not to count among those of the one that is measured.
      await new Promise((resolve) => setTimeout(resolve, LIMIT_WINDOW_SECONDS * 1000 * scale * 1.1));
    }
    const before = service.tasks.size;
    const tookSeconds = await narrate(team, texts);
    const tasks = [...service.tasks.values()].slice(before);
    if (tasks.length !== PARTS) throw new Error(`${tasks.length} tasks in place of ${PARTS}`);
    const ends = endsOf(service, tasks);
    const optimum = optimumSeconds(ends.map(({ ended }) => ended));
    const ratio = tookSeconds / optimum;
    return {
      work: work.name,
      processes,
      narrations,
      isSecond,
      optimumSeconds: to(1, optimum),
      /** If every task had held its place until it was seen, and all else had taken no time. */
      optimumAsSeenSeconds: to(1, optimumSeconds(ends.map(({ seen }) => seen))),
      tookSeconds: to(1, tookSeconds),
      ratio: to(3, ratio),
      goal: GOAL,
      isMet: ratio <= GOAL && service.limited === 0,
      earliestPollSeconds: to(2, earliestPoll(service)),
      creates: tasks.length,
      queries: service.count("query"),
      refusedWith429: service.limited,
    };
  } finally {
    await Promise.all(team.map((driver) => driver.close()));
    await service.stop();
    await workplace.remove();
  }
}

/** Seconds of life from the acceptance of a task to the first query for it. */
function earliestPoll(service: CountingService): number {
  const firsts = [...service.tasks.values()].map(({ id, acceptedAtMs }) => {
    const first = service.exchanges.find(({ kind, taskId }) => kind === "query" && taskId === id);
    return ((first?.atMs ?? Number.POSITIVE_INFINITY) - acceptedAtMs) / 1000 / scale;
  });
  return Math.min(...firsts);
}

if (!values.json) {
  process.stdout.write(
    `${PARTS} parts. Optimum: each create as early as the limits allow, each end seen at once, but not before ${POLL_INTERVAL_SECONDS} s.\n` +
      `All in seconds of life; run ${1 / scale} times faster, so every fixed cost of this program weighs ${1 / scale} times what it would.\n`,
  );
}
const results: Array<Awaited<ReturnType<typeof measure>>> = [];
for (const [index, setting] of SETTINGS.entries()) {
  if (values.only !== undefined && !values.only.split(",").includes(String(index))) continue;
  const result = await measure(setting);
  results.push(result);
  if (values.json) continue;
  const who = `${result.processes} process(es), ${result.narrations} narration(s)${result.isSecond ? ", the second" : ""}`;
  process.stdout.write(
    `${result.work}, ${who}: ${result.tookSeconds} s, optimum ${result.optimumSeconds} s ` +
      `(${result.optimumAsSeenSeconds} s with each end seen as late as it was), ratio ${result.ratio}, goal ${result.goal}; ` +
      `first poll after ${result.earliestPollSeconds} s, ${result.queries} queries, ${result.refusedWith429} refused\n`,
  );
}
if (values.json) process.stdout.write(`${JSON.stringify({ scale, results }, null, 2)}\n`);
process.exitCode = results.every(({ isMet }) => isMet) ? 0 : 1;
