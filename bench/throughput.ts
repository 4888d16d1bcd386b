/** Measures how near the limits' own optimum several inputs come home: `--scale 0.1 --inputs 20 [--json]`; the arithmetic is printed beside it. */
import { parseArgs } from "node:util";
import {
  CREATES_PER_WINDOW,
  IN_FLIGHT_TASKS,
  LIMIT_WINDOW_SECONDS,
  POLL_INTERVAL_SECONDS,
} from "../src/contract/limits.ts";
import { CountingService } from "../test/support/counting-service.ts";
import { createWorkplace, drive, taskOf } from "../test/support/workplace.ts";
import { runNaive } from "./naive.ts";
import { optimumSeconds } from "./optimum.ts";

const { values } = parseArgs({
  options: {
    scale: { type: "string", default: "0.1" },
    inputs: { type: "string", default: "20" },
    json: { type: "boolean", default: false },
  },
});
const scale = Number(values.scale);
const inputs = Number(values.inputs);

interface Setting {
  readonly processes: number;
  /** How long the service works on a task, in seconds of life. */
  readonly processingSeconds: number;
  /** The worst ratio that is good enough. */
  readonly goal: number;
}

const SETTINGS: readonly Setting[] = [
  // Three pairs fit into a minute: the rate of creates rules.
  { processes: 1, processingSeconds: 8, goal: 1.05 },
  { processes: 4, processingSeconds: 8, goal: 1.1 },
  // A pair takes 25 s: the two slots in flight rule.
  { processes: 1, processingSeconds: 24, goal: 1.05 },
  { processes: 4, processingSeconds: 24, goal: 1.1 },
];

const everyTask = (seconds: number): number[] => Array.from({ length: inputs }, () => seconds);

/** A task's end is seen by the poll after it: five seconds after the 202, ten, fifteen. */
const seenSeconds = (processingSeconds: number): number =>
  Math.ceil(processingSeconds / POLL_INTERVAL_SECONDS) * POLL_INTERVAL_SECONDS;

async function measure({ processes, processingSeconds, goal }: Setting) {
  const service = await CountingService.start({
    processingMs: processingSeconds * 1000 * scale,
    limitScale: scale,
  });
  const workplace = await createWorkplace();
  const env = workplace.env(service, { AUDIO_TIME_SCALE: String(scale) });
  const team = await Promise.all(Array.from({ length: processes }, () => drive(env)));
  try {
    // Loads and opens everything, so that starting is not measured here.
    await Promise.all(team.map((driver) => driver.call("list_tasks", {})));
    const beganAtMs = performance.now();
    const calls = Array.from({ length: inputs }, (_, index) =>
      team[index % processes]?.call(
        "generate_audio",
        { prompt: `Input number ${index}`, wait_seconds: 3600 },
        { timeoutMs: 3_600_000 },
      ),
    );
    for (const call of calls) if (call !== undefined) taskOf(await call);
    const tookSeconds = (performance.now() - beganAtMs) / 1000 / scale;
    const optimum = optimumSeconds(everyTask(seenSeconds(processingSeconds)));
    const ratio = tookSeconds / optimum;
    return {
      processes,
      inputs,
      processingSeconds,
      optimumSeconds: optimum,
      optimumWithoutPollGridSeconds: optimumSeconds(everyTask(processingSeconds)),
      tookSeconds: Math.round(tookSeconds * 10) / 10,
      ratio: Math.round(ratio * 1000) / 1000,
      goal,
      isMet: ratio <= goal && service.limited === 0,
      creates: service.count("create"),
      queries: service.count("query"),
      refusedWith429: service.limited,
    };
  } finally {
    await Promise.all(team.map((driver) => driver.close()));
    await service.stop();
    await workplace.remove();
  }
}

const results: Array<Awaited<ReturnType<typeof measure>>> = [];
for (const setting of SETTINGS) results.push(await measure(setting));

const naive: Array<{ processingSeconds: number; tookSeconds: number; refusedWith429: number }> = [];
for (const processingSeconds of new Set(SETTINGS.map((setting) => setting.processingSeconds))) {
  naive.push({ processingSeconds, ...(await runNaive(inputs, processingSeconds, scale)) });
}

if (values.json) process.stdout.write(`${JSON.stringify({ scale, results, naive }, null, 2)}\n`);
else {
  process.stdout.write(
    `${inputs} inputs; ${CREATES_PER_WINDOW} creates in any ${LIMIT_WINDOW_SECONDS} s, ${IN_FLIGHT_TASKS} in flight, a poll every ${POLL_INTERVAL_SECONDS} s.\n` +
      `Optimum: each create as early as the limits allow, each end seen by the next poll, everything else takes no time.\n` +
      `All in seconds of life; run ${1 / scale} times faster, so every fixed cost of this program weighs ${1 / scale} times what it would.\n`,
  );
  for (const result of results) {
    const { processes, processingSeconds, tookSeconds, optimumSeconds: optimum, ratio, goal } = result;
    process.stdout.write(
      `${processes} process${processes === 1 ? "  " : "es"}, tasks of ${String(processingSeconds).padStart(2)} s: ` +
        `${tookSeconds.toFixed(1)} s, optimum ${optimum} s (${result.optimumWithoutPollGridSeconds} s without the poll grid), ` +
        `ratio ${ratio.toFixed(3)}, goal ${goal}; ${result.creates} creates, ${result.queries} queries, ${result.refusedWith429} refused\n`,
    );
  }
}
for (const { processingSeconds, tookSeconds, refusedWith429 } of values.json ? [] : naive) {
  process.stdout.write(
    `naive (send, on 429 wait): tasks of ${processingSeconds} s: ${tookSeconds.toFixed(1)} s, ${refusedWith429} refused\n`,
  );
}
process.exitCode = results.every(({ isMet }) => isMet) ? 0 : 1;
