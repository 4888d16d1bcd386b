/** One round of random crashes: several processes with one ledger die at random moments, then another one survives. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { chargeForSeconds } from "../../src/contract/billing.ts";
import { LedgerView } from "../support/ledger-view.ts";
import { killHard } from "../support/processes.ts";
import type { ToolOutcome } from "../support/tool-result.ts";
import { CrashSetup } from "./crash-setup.ts";

/** Returns a generator of numbers in [0, 1) that the seed determines (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface RoundPlan {
  readonly round: number;
  readonly processingMs: number;
  readonly audioBytes: number;
  /** Milliseconds between the two halves of each response of the service. */
  readonly answerMs: number;
  /** How long after its call each process dies. The processes run one after another. */
  readonly deathsAtMs: readonly number[];
  /** Whether another process makes the same call at the same time, and does not die. */
  readonly hasSecondCaller: boolean;
}

/** Processes die within this time after their call. A generation takes about as long here. */
const MAX_DEATH_MS = 450;

export function drawPlan(round: number, random: () => number): RoundPlan {
  return {
    round,
    processingMs: Math.floor(random() * 150),
    audioBytes: 1000 + Math.floor(random() ** 3 * 4_000_000),
    answerMs: random() < 0.5 ? 0 : Math.floor(random() * 40),
    deathsAtMs: Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
      Math.floor(random() * MAX_DEATH_MS),
    ),
    hasSecondCaller: random() < 0.25,
  };
}

const CALL = { prompt: "Killed at some moment", speed: 1.5 };

/** Makes the service send each response in two halves, so that a process can die between them. */
function delayAnswers(setup: CrashSetup, answerMs: number): void {
  if (answerMs === 0) return;
  setup.service.intercept = async (_exchange, response) => {
    await sleep(answerMs);
    const end = response.end.bind(response);
    const late = (body: unknown): typeof response => {
      const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === "string" ? body : "");
      response.write(bytes.subarray(0, bytes.length / 2));
      setTimeout(() => end(bytes.subarray(bytes.length / 2)), answerMs);
      return response;
    };
    Object.assign(response, { end: late });
    return false;
  };
}

/**
 * Runs one plan and checks the result.
 *
 * @param storeUrl the URL of a PostgreSQL database without data of another round, or `null` for a ledger in a file
 * @throws Error that names every difference from a run in which no process died
 */
export async function runRound(plan: RoundPlan, storeUrl: string | null): Promise<void> {
  const { processingMs, audioBytes } = plan;
  const store: Record<string, string> = storeUrl === null ? {} : { AUDIO_STORE_URL: storeUrl };
  const setup = await CrashSetup.set({ processingMs, audioBytes }, store);
  try {
    delayAnswers(setup, plan.answerMs);
    const secondCaller = plan.hasSecondCaller ? await setup.start() : undefined;
    const seen = secondCaller?.call("generate_audio", CALL);
    for (const deathAtMs of plan.deathsAtMs) {
      const killTarget = await setup.start();
      void killTarget.call("generate_audio", CALL).catch(() => undefined);
      await sleep(deathAtMs);
      await killHard(killTarget.pid);
      await setup.expectOnlyWholeFiles();
    }
    await seen;
    setup.service.intercept = undefined;
    await setup.ageLeftovers();
    const successor = await setup.start();
    const outcome = await successor.call("generate_audio", CALL);
    const { stateDir } = setup.testFolders;
    const { baseUrl, apiKey } = setup.service;
    const view = await LedgerView.open({ stateDir, storeUrl, baseUrl, apiKeys: [apiKey] });
    const faults = await faultsAfter(setup, outcome, view).finally(() => view.close());
    if (faults.length > 0) throw new Error(faults.join("; "));
  } finally {
    await setup.close();
  }
}

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Returns every difference from a run in which no process died. */
async function faultsAfter(setup: CrashSetup, outcome: ToolOutcome, view: LedgerView): Promise<string[]> {
  const { service } = setup;
  const faults: string[] = [];
  const expectSame = (label: string, actual: unknown, expected: unknown): void => {
    if (actual !== expected) faults.push(`${label}: ${String(actual)} instead of ${String(expected)}`);
  };
  const [accepted] = service.tasks.values();
  expectSame("tasks", service.tasks.size, 1);
  expectSame("status", outcome.structuredContent?.["status"], "succeeded");
  expectSame("task id", outcome.structuredContent?.["task_id"], accepted?.id);
  const path: unknown = Object(outcome.structuredContent?.["audio"]).path;
  const bytes = typeof path === "string" ? await readFile(path) : Buffer.alloc(0);
  expectSame("audio", sha256(bytes), accepted && sha256(accepted.audio));
  expectSame("files", (await setup.finalNames()).length, 1);
  expectSame("temporary files", (await setup.temporaryNames()).length, 0);
  const [record, ...others] = await view.records();
  expectSame("other records", others.length, 0);
  expectSame("recorded task", record?.task_id, accepted?.id);
  expectSame("recorded status", record?.status, "saved");
  expectSame("recorded file", record?.files.at(-1)?.path, path);
  expectSame("concurrency slots", (await view.attempts()).filter(({ is_open }) => is_open === 1).length, 0);
  expectSame("counted credits", await view.spentCredits(), chargeForSeconds(service.audioSeconds));
  const keys = new Set(service.exchanges.flatMap(({ key }) => key ?? []));
  expectSame("idempotency keys", keys.size, 1);
  return faults;
}
