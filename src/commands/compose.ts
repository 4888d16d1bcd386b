/**
 * Builds what tools use from a configuration. This file is loaded on the first call that needs it, never at start.
 */
import { createServiceClient } from "../api/service.ts";
import type { RequestTimeouts } from "../api/transport.ts";
import { systemClock } from "../clock.ts";
import { type Config, requireOutputDir } from "../config/config.ts";
import type { ServiceAccess } from "../config/service-address.ts";
import { openOutputFolder, openPartsFolder } from "../files/output-folder.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { initMachineId } from "../ledger/machine-id.ts";
import { openLedger } from "../ledger/open-ledger.ts";
import type { Log } from "../log.ts";
import type { Narrations } from "../narration/narrations.ts";
import { createProcessId } from "../process-id.ts";
import { createDetector } from "../redaction.ts";
import { buildTiming, type RequestDeps } from "../requests/deps.ts";
import { createRequests, type Requests } from "../requests/requests.ts";

/** Everything that tools use: single requests, narrations made of them, and the ledger of both. */
export interface Workflow {
  readonly requests: Requests;
  /** Loads the code of narrations on first use. */
  narrations(): Promise<Narrations>;
  readonly ledger: Ledger;
  close(): Promise<void>;
}

/**
 * Opens folder, ledger and service, and combines them into a workflow.
 *
 * @param timeouts time limits of single requests; only tests change them
 * @throws AudioError `store_unavailable`, and errors of the output folder
 */
export async function composeWorkflow(
  config: Config,
  serviceAccess: ServiceAccess,
  log: Log,
  timeouts: Partial<RequestTimeouts> = {},
): Promise<Workflow> {
  const clock = systemClock;
  await initMachineId(config.stateDir);
  const folder = await openOutputFolder(requireOutputDir(config), clock);
  const partsFolder = openPartsFolder(folder, clock);
  void folder.sweepStaleTemporaryFiles().then(() => partsFolder.sweepStaleTemporaryFiles());
  const ledger = await openLedger({ config, serviceAccess, processId: createProcessId(), log, clock });
  const requestDeps: RequestDeps = {
    service: createServiceClient(serviceAccess, { proxy: config.proxy, timeouts, log }),
    ledger,
    folder,
    partsFolder,
    clock,
    log,
    timing: buildTiming(config),
    random: Math.random,
  };
  const { requests, driver } = createRequests(requestDeps);
  let narrations: Promise<Narrations> | undefined;
  return {
    requests,
    ledger,
    narrations: () => {
      narrations ??= import("../narration/narrations.ts").then(
        (module) =>
          new module.NarrationOperations({
            ...requestDeps,
            driver,
            captionFiles: config.captions,
            containsSecret: createDetector([serviceAccess.apiKey, ...config.certainSecrets]),
          }),
      );
      return narrations;
    },
    async close() {
      // Close narrations first, so that they start no further requests while the workflow closes.
      await (await narrations)?.close();
      await requests.close();
    },
  };
}
