/**
 * The dependencies of the workflow in a test: the real ledger and folder, a manual clock, and the test's own
 * service.
 */
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { ServiceClient } from "../../src/api/service.ts";
import { buildPartsPath, openOutputFolder } from "../../src/files/output-folder.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { createLog } from "../../src/log.ts";
import { createProcessId } from "../../src/process-id.ts";
import type { GenerateRequest } from "../../src/requests/begin.ts";
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

/** A request for a text, in its first take. */
export const requestOf = (prompt: string): GenerateRequest => ({
  input: { prompt },
  callPronunciations: [],
  pronunciations: [],
  take: 1,
  fileName: null,
  mayReplace: false,
});

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
  onTestFinished(() => ledger.database.close());
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
  return { clock, deps };
}
