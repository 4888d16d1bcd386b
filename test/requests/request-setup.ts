/**
 * The dependencies of the workflow in a test: the real ledger, limits and folder, a manual clock, and the test's own
 * service.
 */
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { ServiceClient } from "../../src/api/service.ts";
import { buildPartsPath, openOutputFolder } from "../../src/files/output-folder.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { Limits } from "../../src/limits/limits.ts";
import { createLog } from "../../src/log.ts";
import { createProcessId } from "../../src/process-id.ts";
import { buildTiming, type RequestDeps } from "../../src/requests/deps.ts";
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

export async function makeDeps(
  makeService: (clock: ManualClock) => ServiceClient,
): Promise<{ clock: ManualClock; deps: RequestDeps }> {
  const clock = new ManualClock();
  const folder = scratchFolder();
  const log = createLog("error", (text) => text);
  const ledger = await openLedger({
    config: { stateDir: join(folder, "state"), storeUrl: null },
    serviceAccess: { baseUrl: "https://service.test", apiKey: "sk-test" },
    processId: createProcessId(),
    log,
    clock,
  });
  const limits = new Limits({ ledger, clock, log, timeScale: 1, creditBudget: null });
  onTestFinished(async () => {
    await limits.close();
    await ledger.store.close();
  });
  const deps: RequestDeps = {
    service: makeService(clock),
    limits,
    ledger,
    folder: await openOutputFolder(join(folder, "out"), clock),
    partsFolder: await openOutputFolder(buildPartsPath(join(folder, "out")), clock),
    clock,
    log,
    timing: buildTiming({ pollIntervalSeconds: 5, timeScale: 1, waitSeconds: 45 }),
    random: () => 0.5,
  };
  return { clock, deps };
}
