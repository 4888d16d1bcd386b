/** Resumes accepted tasks whose audio was never saved. Never sends a create, and never runs at start-up. */
import type { GenerationDeps } from "./deps.ts";
import type { Jobs } from "./job/jobs.ts";

/** Later rounds resume the tasks beyond this number. */
const MAX_PER_ROUND = 50;
const MIN_INTERVAL_MS = 2000;

export class Resumer {
  readonly #deps: GenerationDeps;
  readonly #jobs: Jobs;
  #lastMs = Number.NEGATIVE_INFINITY;
  #round: Promise<void> = Promise.resolve();

  constructor(deps: GenerationDeps, jobs: Jobs) {
    this.#deps = deps;
    this.#jobs = jobs;
  }

  /** Schedules a round in the background, unless one ran just now. Failures are only logged, because the call itself reports them. */
  schedule(): void {
    const nowMs = this.#deps.clock.steadyMs();
    if (nowMs - this.#lastMs < MIN_INTERVAL_MS * Math.max(this.#deps.timing.scale, 0.05)) return;
    this.#lastMs = nowMs;
    this.#round = this.#round
      .then(() => this.#run())
      .catch((cause: unknown) => this.#deps.log.warn("open tasks could not be resumed", cause));
  }

  async #run(): Promise<void> {
    const { ledger } = this.#deps;
    for (const record of await ledger.list({ accounts: "own", openOnly: true, limit: MAX_PER_ROUND })) {
      this.#jobs.start(record, "finish");
    }
  }

  /** Waits for the current round. */
  async close(): Promise<void> {
    await this.#round;
  }
}
