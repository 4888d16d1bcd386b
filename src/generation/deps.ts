/** Owns what the workflow needs from the floors below, in one narrow bundle; builds none of it. */
import type { Service } from "../api/service.ts";
import type { Clock } from "../clock.ts";
import { RECOVERY_WINDOW_SECONDS } from "../contract/limits.ts";
import type { OutputFolder } from "../files/output-folder.ts";
import type { HolderId } from "../ledger/coordinator.ts";
import type { Store } from "../ledger/store.ts";
import type { Limits } from "../limits/limits.ts";
import type { Log } from "../log.ts";

/** Intervals of the workflow, already multiplied by the time scale where design section 4 says so. */
export interface Timing {
  readonly pollIntervalMs: number;
  /** Recovery lasts 60 minutes; we go on for 65 (design 6.6). */
  readonly recoveryMs: number;
  /** Multiplies backoff delays. */
  readonly scale: number;
  /** How often a follower looks into the ledger for what another process is doing. */
  readonly followMs: number;
  readonly leaseTtlMs: number;
  /** A whole download, every resumption included. */
  readonly downloadDeadlineMs: number;
  /** What a download waits before it answers `timeout` (`AUDIO_WAIT_SECONDS`). */
  readonly transferWaitMs: number;
}

const PATIENCE_AFTER_RECOVERY_SECONDS = 5 * 60;

export function timingFor(config: {
  pollIntervalSeconds: number;
  timeScale: number;
  waitSeconds: number;
}): Timing {
  return {
    pollIntervalMs: config.pollIntervalSeconds * 1000 * config.timeScale,
    recoveryMs: (RECOVERY_WINDOW_SECONDS + PATIENCE_AFTER_RECOVERY_SECONDS) * 1000 * config.timeScale,
    scale: config.timeScale,
    followMs: 150,
    leaseTtlMs: 15_000,
    downloadDeadlineMs: 15 * 60_000,
    transferWaitMs: config.waitSeconds * 1000,
  };
}

export interface GenerationDeps {
  readonly service: Service;
  readonly limits: Limits;
  readonly store: Store;
  readonly folder: OutputFolder;
  readonly clock: Clock;
  readonly log: Log;
  readonly holder: HolderId;
  /** Scheme, host, port and path of the base URL: records, limits and budget belong to it. */
  readonly origin: string;
  readonly fingerprint: string;
  readonly timing: Timing;
  readonly random: () => number;
}
