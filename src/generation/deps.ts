/** What the workflow needs from the floors below, in one narrow bundle. */
import type { Service } from "../api/service.ts";
import type { Clock } from "../clock.ts";
import type { OutputFolder } from "../files/output-folder.ts";
import { IN_FLIGHT_AT_MOST_MS } from "../ledger/horizons.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Limits } from "../limits/limits.ts";
import type { Log } from "../log.ts";

/** Intervals of the workflow; all but `followMs` and `transferWaitMs` are multiplied by the time scale already. */
export interface Timing {
  readonly pollIntervalMs: number;
  /** How long the service may take over a task, and how long we go on in all: a little longer than it recovers. */
  readonly recoveryMs: number;
  /** Multiplies backoff delays. */
  readonly scale: number;
  /** How often a follower looks into the ledger for what another process is doing. */
  readonly followMs: number;
  /** What a download waits before it answers `timeout` (`AUDIO_WAIT_SECONDS`). */
  readonly transferWaitMs: number;
}

export function timingFor(config: {
  pollIntervalSeconds: number;
  timeScale: number;
  waitSeconds: number;
}): Timing {
  return {
    pollIntervalMs: config.pollIntervalSeconds * 1000 * config.timeScale,
    recoveryMs: IN_FLIGHT_AT_MOST_MS * config.timeScale,
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
  /** For the parts of narrations; inside the folder. */
  readonly parts: OutputFolder;
  readonly clock: Clock;
  readonly log: Log;
  readonly timing: Timing;
  readonly random: () => number;
}
