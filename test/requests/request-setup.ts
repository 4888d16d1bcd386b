/**
 * The dependencies of the workflow in a test: the real ledger and folder, a manual clock, and the test's own
 * service.
 */
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { ObservedTask } from "../../src/api/parse-task.ts";
import type { ServiceClient } from "../../src/api/service.ts";
import { buildPartsPath, openOutputFolder } from "../../src/files/output-folder.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { createLog } from "../../src/log.ts";
import { createProcessId } from "../../src/process-id.ts";
import { buildTiming, type RequestDeps } from "../../src/requests/deps.ts";
import type { GenerateRequest } from "../../src/requests/prepare-request.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { scratchFolder } from "../support/scratch.ts";

/** Returns a client whose every request throws. Tests replace the methods that they use. */
export function createFailingService(): ServiceClient {
  const failIfCalled = (): never => {
    throw new Error("nobody should ask this service");
  };
  return {
    submit: failIfCalled,
    query: failIfCalled,
    openContent: failIfCalled,
    close: async () => {},
  };
}

/** A task that the service works on, unless the changes say otherwise. */
export const observedTask = (changes: Partial<ObservedTask> = {}): ObservedTask => ({
  taskId: "task",
  status: "processing",
  billing: { reserved_credits: 150, charged_credits: null, refunded_credits: null },
  audioSeconds: null,
  output: null,
  error: null,
  deviations: [],
  ...changes,
});

/** A call that does not wait. */
export const CALL = { signal: new AbortController().signal, waitMs: 0, onProgress: () => undefined };

/** A request for a text, in its first take. */
export const requestOf = (prompt: string): GenerateRequest => ({
  input: { prompt },
  callPronunciations: [],
  pronunciations: [],
  take: 1,
  fileName: null,
  mayReplace: false,
});

/** Where processes of a test meet: one folder for ledger and output, and one clock. */
export interface Meeting {
  readonly folder: string;
  readonly clock: ManualClock;
}

/** @param meeting what another process of the test uses, too; absent for a process of its own */
export async function makeDeps(
  makeService: (clock: ManualClock) => ServiceClient,
  { apiKey = "sk-test", meeting }: { readonly apiKey?: string; readonly meeting?: Meeting } = {},
): Promise<Meeting & { deps: RequestDeps }> {
  const { folder, clock } = meeting ?? { folder: scratchFolder(), clock: new ManualClock() };
  const log = createLog("error", (text) => text);
  const ledger = await openLedger({
    config: { stateDir: join(folder, "state"), storeUrl: null },
    serviceAccess: { baseUrl: "https://service.test", apiKey },
    processId: createProcessId(),
    log,
    clock,
  });
  onTestFinished(() => ledger.database.close());
  // The first use loads modules, which takes no time of the manual clock.
  await ledger.database.run(async () => undefined);
  await import("../../src/audio/audio-length.ts");
  const deps: RequestDeps = {
    service: makeService(clock),
    ledger,
    folder: await openOutputFolder(join(folder, "out"), clock),
    partsFolder: await openOutputFolder(buildPartsPath(join(folder, "out")), clock),
    clock,
    log,
    timing: buildTiming({ pollIntervalSeconds: 5, timeScale: 1, waitSeconds: 45 }),
    random: () => 0.5,
  };
  return { clock, folder, deps };
}
