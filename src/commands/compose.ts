/**
 * Builds the workflow from a configuration. This file is loaded on the first call that needs the workflow, never at
 * start.
 */
import { createServiceClient } from "../api/service.ts";
import type { RequestTimeouts } from "../api/transport.ts";
import { systemClock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { listCertainSecrets } from "../config/secrets.ts";
import type { ServiceAccess } from "../config/service-address.ts";
import { openOutputFolder, openPartsFolder } from "../files/output-folder.ts";
import { initMachineId } from "../ledger/machine-id.ts";
import { openLedger } from "../ledger/open-ledger.ts";
import { Limits } from "../limits/limits.ts";
import type { Log } from "../log.ts";
import type { Narrations } from "../narration/narrations.ts";
import { createProcessId } from "../process-id.ts";
import { createDetector } from "../redaction.ts";
import { buildTiming } from "../requests/deps.ts";
import { createRequests } from "../requests/requests.ts";
import { requireOutputDir } from "./configuration-error.ts";
import type { Workflow } from "./workflow.ts";

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
  const ledger = await openLedger({ config, serviceAccess, processId: createProcessId(), log, clock });
  const { timeScale, creditBudget } = config;
  const limits = new Limits({ ledger, clock, log, timeScale, creditBudget });
  const partsFolder = openPartsFolder(folder, clock);
  void folder.sweepStaleTemporaryFiles().then(() => partsFolder.sweepStaleTemporaryFiles());
  const requests = createRequests({
    service: createServiceClient(serviceAccess, { proxy: config.proxy, timeouts }),
    limits,
    ledger,
    folder,
    partsFolder,
    clock,
    log,
    timing: buildTiming(config),
    random: Math.random,
  });
  const containsSecret = createDetector([serviceAccess.apiKey, ...listCertainSecrets(process.env)]);
  let narrationsPromise: Promise<Narrations> | undefined;
  return {
    requests,
    narrations: () => {
      narrationsPromise ??= import("../narration/narrations.ts").then(({ createNarrations }) =>
        createNarrations({
          ledger,
          partOperations: requests.partOperations,
          folder,
          clock,
          log,
          captionFiles: config.captions,
          containsSecret,
        }),
      );
      return narrationsPromise;
    },
    async close() {
      // Close narrations first, so that they start no further jobs while the workflow closes.
      await (await narrationsPromise)?.close();
      await requests.close();
    },
  };
}
