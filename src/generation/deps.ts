/** The dependencies of the workflow on the floors below. */
import type { Service } from "../api/service.ts";
import type { Clock } from "../clock.ts";
import type { OutputFolder } from "../files/output-folder.ts";
import { MAX_IN_FLIGHT_MS } from "../ledger/horizons.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Limits } from "../limits/limits.ts";
import type { Log } from "../log.ts";

/** Intervals of the workflow, already scaled except for `followMs` and `transferWaitMs`. */
export interface Timing {
  readonly pollIntervalMs: number;
  /** Total time for one stage of a job. Slightly longer than the service takes to recover a task. */
  readonly recoveryMs: number;
  /** Multiplies backoff delays. */
  readonly scale: number;
  /** Interval at which a follower reads the ledger for the progress of another process. */
  readonly followMs: number;
  /** Time that a download waits before it returns `timeout` (`AUDIO_WAIT_SECONDS`). */
  readonly transferWaitMs: number;
}

export function timingFor(config: {
  pollIntervalSeconds: number;
  timeScale: number;
  waitSeconds: number;
}): Timing {
  return {
    pollIntervalMs: config.pollIntervalSeconds * 1000 * config.timeScale,
    recoveryMs: MAX_IN_FLIGHT_MS * config.timeScale,
    scale: config.timeScale,
    followMs: 150,
    transferWaitMs: config.waitSeconds * 1000,
  };
}

export interface GenerationDeps {
  readonly service: Service;
  readonly limits: Limits;
  readonly ledger: Ledger;
  readonly folder: OutputFolder;
  /** Subfolder of `folder` for the parts of narrations. */
  readonly parts: OutputFolder;
  readonly clock: Clock;
  readonly log: Log;
  readonly timing: Timing;
  readonly random: () => number;
}
