/** Owns what the workflow stands on in a test: the real store, limits and folder, time by hand, and a service of the test's own. */
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Service } from "../../src/api/service.ts";
import { openOutputFolder } from "../../src/files/output-folder.ts";
import { type GenerationDeps, timingFor } from "../../src/generation/deps.ts";
import { createHolderId } from "../../src/holder.ts";
import { openStore } from "../../src/ledger/open-store.ts";
import { createLimits } from "../../src/limits/limits.ts";
import { createLog } from "../../src/log.ts";
import { HandClock } from "../support/hand-clock.ts";
import { scratchFolder } from "../support/scratch.ts";

const ORIGIN = "https://service.test";

/** A service that nobody is expected to ask. */
export function silentService(): Service {
  const unasked = (): never => {
    throw new Error("nobody should ask this service");
  };
  return {
    create: unasked,
    query: unasked,
    content: unasked,
    close: async () => {},
  };
}

export async function makeDeps(
  makeService: (clock: HandClock) => Service,
): Promise<{ clock: HandClock; deps: GenerationDeps }> {
  const clock = new HandClock();
  const folder = scratchFolder();
  const log = createLog("error", (text) => text);
  const store = await openStore({ stateDir: join(folder, "state"), storeUrl: null, log, clock });
  const holder = createHolderId();
  const limits = createLimits({
    accountId: "account",
    origin: ORIGIN,
    coordinator: store.coordinator,
    clock,
    log,
    holder,
    timeScale: 1,
    creditBudget: null,
  });
  onTestFinished(async () => {
    await limits.close();
    await store.close();
  });
  const deps: GenerationDeps = {
    service: makeService(clock),
    limits,
    store,
    folder: await openOutputFolder(join(folder, "out"), clock),
    clock,
    log,
    holder,
    origin: ORIGIN,
    fingerprint: "fingerprint",
    timing: timingFor({ pollIntervalSeconds: 5, timeScale: 1, waitSeconds: 45 }),
    random: () => 0.5,
  };
  return { clock, deps };
}
