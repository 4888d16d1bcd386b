/**
 * One round of kills during a narration: two processes narrate the same text, and are killed and restarted at random
 * moments.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { randomFrom } from "../crash/random-round.ts";
import { FAST } from "../support/bin-under-test.ts";
import { FakeService } from "../support/fake-service.ts";
import { killHard } from "../support/processes.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { startBinClient, type ToolClient } from "../support/tool-client.ts";
import { buildText, type NarrationOutput, narrationOf, PART_BYTES } from "./narrator.ts";

export interface KillSchedule {
  readonly round: number;
  readonly parts: number;
  readonly processingMs: number;
  /** For each of the two clients, the times after which it kills the processes that it starts one after another. */
  readonly lifetimesMs: readonly [readonly number[], readonly number[]];
  /** How many submissions the service answers with a 503 although it has made their tasks. */
  readonly lostAnswers: number;
}

const MAX_LIFE_MS = 900;
const PAUSE_BYTES = 0.6 * 24_000 * 2;
const CREDITS_A_PART = 10;

export function drawKillSchedule(round: number, random: () => number): KillSchedule {
  const drawLifetimes = (): number[] =>
    Array.from({ length: 1 + Math.floor(random() * 3) }, () => Math.floor(random() * MAX_LIFE_MS));
  return {
    round,
    parts: 3 + Math.floor(random() * 5),
    processingMs: Math.floor(random() * 120),
    lifetimesMs: [drawLifetimes(), drawLifetimes()],
    lostAnswers: random() < 0.3 ? 1 : 0,
  };
}

interface KillSetup {
  readonly service: FakeService;
  readonly testFolders: TestFolders;
  readonly start: () => Promise<ToolClient>;
  readonly text: string;
}

const call = (client: ToolClient, text: string, waitSeconds: number) =>
  client.call("narrate", {
    text,
    output_format: "pcm",
    max_credits: 10_000,
    wait_seconds: waitSeconds,
  });

/** Runs one client. For each lifetime, it starts a process, sends the call, and kills the process. */
async function runClientUntilKilled(
  { start, text }: KillSetup,
  lifetimesMs: readonly number[],
): Promise<void> {
  for (const lifeMs of lifetimesMs) {
    const client = await start();
    void call(client, text, 20).catch(() => undefined);
    await sleep(lifeMs);
    await killHard(client.pid);
  }
}

/** Repeats the last call until the narration is finished. The lease of a killed process may have to expire first. */
async function finish({ start, text }: KillSetup): Promise<NarrationOutput> {
  const client = await start();
  try {
    for (let tries = 0; ; tries += 1) {
      const shownNarration = narrationOf(await call(client, text, 20));
      if (shownNarration.status === "finished" || tries === 5) return shownNarration;
    }
  } finally {
    await client.close();
  }
}

async function failedChecks(
  { service, testFolders }: KillSetup,
  schedule: KillSchedule,
  lastNarration: NarrationOutput,
): Promise<string[]> {
  const faults: string[] = [];
  const expectSame = (label: string, actual: unknown, expected: unknown): void => {
    if (actual !== expected) faults.push(`${label}: ${String(actual)} instead of ${String(expected)}`);
  };
  expectSame("status", `${lastNarration.status} ${JSON.stringify(lastNarration.problems)}`, "finished []");
  expectSame("tasks", service.tasks.size, schedule.parts);
  expectSame("credits", lastNarration.credits.charged, schedule.parts * CREDITS_A_PART);
  const names = (await readdir(testFolders.outputDir)).filter((name) => name.endsWith(".pcm"));
  expectSame("files", names.length, 1);
  const bytes = await readFile(join(testFolders.outputDir, names[0] ?? "none")).catch(() => Buffer.alloc(0));
  const tasks = [...service.tasks.values()];
  const sounds = Array.from({ length: schedule.parts }, (_, index) =>
    tasks.find(({ body }) => body.includes(`Part ${index} begins`)),
  ).map((task) => task?.audio ?? Buffer.alloc(0));
  const silence = Buffer.alloc(PAUSE_BYTES);
  const expected = Buffer.concat(sounds.flatMap((sound, at) => (at === 0 ? [sound] : [silence, sound])));
  expectSame("bytes", bytes.length, schedule.parts * PART_BYTES + (schedule.parts - 1) * PAUSE_BYTES);
  expectSame("sound", bytes.equals(expected), true);
  return faults;
}

/**
 * Runs one round of kills and checks the result.
 *
 * @param storeUrl of a PostgreSQL database without data of another round; `null` if the ledger is a SQLite file
 * @throws Error naming every failed check: one task and one charge for each part, and one complete file
 */
export async function runKillRound(schedule: KillSchedule, storeUrl: string | null = null): Promise<void> {
  const { processingMs, parts } = schedule;
  const service = await FakeService.start({ processingMs, audioBytes: PART_BYTES, audioSeconds: 4 });
  const testFolders = await createTestFolders();
  const store: Record<string, string> = storeUrl === null ? {} : { AUDIO_STORE_URL: storeUrl };
  const start = (): Promise<ToolClient> => startBinClient(testFolders.env(service, { ...FAST, ...store }));
  const names = Array.from({ length: parts }, (_, index) => `Part ${index}`);
  const setup: KillSetup = { service, testFolders, start, text: buildText(...names) };
  let lost = schedule.lostAnswers;
  service.intercept = (exchange, response, self) => {
    if (exchange.kind !== "create" || lost === 0 || exchange.ordinal < 2) return false;
    lost -= 1;
    self.accept(exchange);
    self.refuse(response, 503, "temporarily_unavailable");
    return true;
  };
  try {
    await Promise.all(schedule.lifetimesMs.map((lifetimesMs) => runClientUntilKilled(setup, lifetimesMs)));
    const faults = await failedChecks(setup, schedule, await finish(setup));
    if (faults.length > 0) throw new Error(faults.join("; "));
  } finally {
    await service.stop();
    await testFolders.remove();
  }
}

/** Draws all rounds of kills before the first one runs, so that each round depends on the seed alone. */
export function killPlans(rounds: number, seed: number): KillSchedule[] {
  const random = randomFrom(seed);
  return Array.from({ length: rounds }, (_, round) => drawKillSchedule(round + 1, random));
}
