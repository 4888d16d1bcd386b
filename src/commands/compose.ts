/** Owns the building of the workflow from a configuration; loaded on the first call that needs it, never at start. */

import { createService } from "../api/service.ts";
import type { Deadlines } from "../api/transport.ts";
import { systemClock } from "../clock.ts";
import type { Config, ServiceAddress } from "../config.ts";
import { openOutputFolder } from "../files/output-folder.ts";
import { timingFor } from "../generation/deps.ts";
import { createGeneration, type Generation } from "../generation/generation.ts";
import { accountFingerprint, accountId } from "../generation/identity.ts";
import { createHolderId } from "../holder.ts";
import { openStore } from "../ledger/open-store.ts";
import { createLimits } from "../limits/limits.ts";
import type { Log } from "../log.ts";

/**
 * @param deadlines of single requests; only tests have others than those of life
 * @throws AudioError `store_unavailable`, or what the output folder says
 */
export async function composeGeneration(
  config: Config,
  address: ServiceAddress,
  log: Log,
  deadlines: Partial<Deadlines> = {},
): Promise<Generation> {
  const clock = systemClock;
  const origin = address.baseUrl;
  const fingerprint = accountFingerprint(address.apiKey);
  const holder = createHolderId();
  const folder = await openOutputFolder(config.outputDir, clock);
  const store = await openStore({ stateDir: config.stateDir, storeUrl: config.storeUrl, log, clock });
  const limits = createLimits({
    coordinator: store.coordinator,
    clock,
    log,
    accountId: accountId(origin, fingerprint),
    origin,
    holder,
    timeScale: config.timeScale,
    creditBudget: config.creditBudget,
  });
  void folder.sweepStaleTemporaryFiles();
  return createGeneration({
    service: createService(address, { proxy: config.proxy, deadlines }),
    limits,
    store,
    folder,
    clock,
    log,
    holder,
    origin,
    fingerprint,
    timing: timingFor(config),
    random: Math.random,
  });
}
