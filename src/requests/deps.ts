/**
 * Declares what single requests need from lower layers: service client, ledger, output folder.
 */
import type { ServiceClient } from "../api/service.ts";
import type { Clock } from "../clock.ts";
import type { OutputFolder } from "../files/output-folder.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { RECOVERY_TIMEOUT_MS } from "../ledger/limit-timing.ts";
import type { Log } from "../log.ts";

/**
 * Durations for single requests, and the time scale. `pollIntervalMs` and `recoveryTimeoutMs` are already multiplied by
 * the time scale; `transferWaitMs` is real time.
 */
export interface Timing {
  readonly pollIntervalMs: number;
  /**
   * Time limit for one stage of a job (submit, watch or save). It is slightly longer than the time in which the service
   * may finish a task.
   */
  readonly recoveryTimeoutMs: number;
  /** The time scale. Backoff delays are multiplied by it. */
  readonly timeScale: number;
  /**
   * How long a download call waits for the transfer (`AUDIO_WAIT_SECONDS`). The call then throws `timeout`, but the
   * transfer continues.
   */
  readonly transferWaitMs: number;
}

/**
 * Converts settings in seconds to durations in milliseconds. Multiplies only some of them by the time scale; see
 * {@link Timing}.
 */
export function buildTiming(config: {
  pollIntervalSeconds: number;
  timeScale: number;
  waitSeconds: number;
}): Timing {
  return {
    pollIntervalMs: config.pollIntervalSeconds * 1000 * config.timeScale,
    recoveryTimeoutMs: RECOVERY_TIMEOUT_MS * config.timeScale,
    timeScale: config.timeScale,
    transferWaitMs: config.waitSeconds * 1000,
  };
}

export interface RequestDeps {
  readonly service: ServiceClient;
  readonly ledger: Ledger;
  readonly folder: OutputFolder;
  /** Subfolder of `folder` for the parts of narrations. */
  readonly partsFolder: OutputFolder;
  readonly clock: Clock;
  readonly log: Log;
  readonly timing: Timing;
  readonly random: () => number;
}
