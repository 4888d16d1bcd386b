/** Resumes accepted tasks whose audio was never saved. Never sends a submission, and never runs at start-up. */
import type { RequestDeps } from "./deps.ts";
import type { JobRunner } from "./job/job-runner.ts";

/** Maximum number of tasks that one round resumes. Later rounds resume the rest. */
const MAX_PER_ROUND = 50;
const MIN_INTERVAL_MS = 2000;

/**
 * Resumes this API key's accepted tasks whose audio was never saved, at most 50 in a round. Its jobs send no
 * submissions, and leave a record to another process that has the lease.
 */
export class Resumer {
  readonly #deps: RequestDeps;
  readonly #jobs: JobRunner;
  #lastMs = Number.NEGATIVE_INFINITY;
  #round: Promise<void> = Promise.resolve();

  constructor(deps: RequestDeps, jobs: JobRunner) {
    this.#deps = deps;
    this.#jobs = jobs;
  }

  /**
   * Starts a round of resuming tasks in the background, unless a round started within the minimum interval. A failure
   * of the round is only logged, even a failure of the ledger. The call that starts the round uses the same ledger, so
   * the call reports a failure of the ledger.
   */
  schedule(): void {
    const nowMs = this.#deps.clock.steadyMs();
    if (nowMs - this.#lastMs < MIN_INTERVAL_MS * Math.max(this.#deps.timing.timeScale, 0.05)) return;
    this.#lastMs = nowMs;
    this.#round = this.#round
      .then(() => this.#run())
      .catch((cause: unknown) => this.#deps.log.warn("open tasks could not be resumed", cause));
  }

  async #run(): Promise<void> {
    const { ledger } = this.#deps;
    for (const record of await ledger.list({ apiKeys: "own", mustBeResumable: true, limit: MAX_PER_ROUND })) {
      this.#jobs.start(record, "resume");
    }
  }

  /** Waits until the current round has ended. */
  async close(): Promise<void> {
    await this.#round;
  }
}
