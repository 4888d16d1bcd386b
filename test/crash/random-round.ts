/** One round of random crashes: several processes with one ledger die at random moments, then another one survives. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { chargeForSeconds } from "../../src/contract/billing.ts";
import type { LedgerStores } from "../support/ledger-storage.ts";
import { LedgerView } from "../support/ledger-view.ts";
import { killHard } from "../support/processes.ts";
import { Random } from "../support/random.ts";
import { resultTextOf, type ToolOutcome } from "../support/tool-result.ts";
import { CrashSetup } from "./crash-setup.ts";

/** Processes die within this time after their call. A generation takes about as long here. */
const MAX_DEATH_MS = 450;

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
 * Runs one round and checks the result.
 *
 * @throws Error that names every difference from a run in which no process died
 */
export async function runCrashRound(seed: number, stores: LedgerStores): Promise<Record<string, number>> {
  const random = new Random(seed);
  const processingMs = random.int(0, 150);
  const audioBytes = 1000 + Math.floor(random.next() ** 3 * 4_000_000);
  // The time between the two halves of each response of the service.
  const answerMs = random.chance(0.5) ? 0 : random.int(0, 40);
  const deathsAtMs = Array.from({ length: random.int(1, 3) }, () => random.int(0, MAX_DEATH_MS));
  // Another process may make the same call at the same time, and does not die.
  const hasSecondCaller = random.chance(0.25);
  const isDisturbed = random.chance(0.3);
  const service = { processingMs, audioBytes };
  const setup = await CrashSetup.set(service);
  const storage = await stores.open(setup.testFolders.stateDir);
  try {
    delayAnswers(setup, answerMs);
    const secondCaller = hasSecondCaller ? await setup.start(storage.env) : undefined;
    const seen = secondCaller?.call("generate_audio", CALL);
    const disturbance = isDisturbed ? storage.disturb(random) : undefined;
    for (const deathAtMs of deathsAtMs) {
      const killTarget = await setup.start(storage.env);
      void killTarget.call("generate_audio", CALL).catch(() => undefined);
      await sleep(deathAtMs);
      await killHard(killTarget.pid);
      await setup.expectOnlyWholeFiles();
    }
    await disturbance;
    await seen;
    setup.service.intercept = undefined;
    await setup.ageLeftovers();
    const successor = await setup.start(storage.env);
    const outcome = await successor.call("generate_audio", CALL);
    const { stateDir } = setup.testFolders;
    const { baseUrl, apiKey } = setup.service;
    const view = await LedgerView.open({
      stateDir,
      storeUrl: storage.directUrl,
      baseUrl,
      apiKeys: [apiKey],
    });
    const faults = await faultsAfter(setup, outcome, view).finally(() => view.close());
    if (faults.length > 0) throw new Error(faults.join("; "));
    return { kills: deathsAtMs.length, ledgerFaults: Number(isDisturbed) };
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
  const status = outcome.structuredContent?.["status"];
  if (status !== "succeeded") faults.push(`the last call was answered: ${resultTextOf(outcome)}`);
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
