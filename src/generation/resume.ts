/** Takes up what was left behind: accepted tasks that nobody has saved. Never creates, never runs at start-up. */
import { AudioError } from "../errors.ts";
import type { GenerationDeps } from "./deps.ts";
import type { Jobs } from "./job/jobs.ts";
import { asOurs } from "./use-cases/find-record.ts";

/** More open tasks than this are taken up in later rounds. */
const MOST_PER_ROUND = 50;
/** Open tasks of other API keys are asked for once a process: most often they are other people's. */
const MOST_OF_OTHERS = 20;
const SHORTEST_BETWEEN_MS = 2000;

export class Resumer {
  readonly #deps: GenerationDeps;
  readonly #jobs: Jobs;
  readonly #stop = new AbortController();
  #lastMs = Number.NEGATIVE_INFINITY;
  #round: Promise<void> = Promise.resolve();
  #hasLookedAtOthers = false;

  constructor(deps: GenerationDeps, jobs: Jobs) {
    this.#deps = deps;
    this.#jobs = jobs;
  }

  /** Starts a round in the background, unless one has just been. A failing one is logged: the call itself will say more. */
  soon(): void {
    const nowMs = this.#deps.clock.steadyMs();
    if (nowMs - this.#lastMs < SHORTEST_BETWEEN_MS * Math.max(this.#deps.timing.scale, 0.05)) return;
    this.#lastMs = nowMs;
    this.#round = this.#round
      .then(() => this.#run())
      .catch((cause: unknown) => this.#deps.log.warn("open tasks could not be resumed", cause));
  }

  async #run(): Promise<void> {
    const { ledger } = this.#deps;
    for (const record of await ledger.list({ accounts: "own", openOnly: true, limit: MOST_PER_ROUND })) {
      this.#jobs.start(record, "finish");
    }
    if (this.#hasLookedAtOthers) return;
    this.#hasLookedAtOthers = true;
    await this.#adoptOpenOnes();
  }

  /** After a change of key on the same account, its running tasks are still this account's. */
  async #adoptOpenOnes(): Promise<void> {
    const { ledger, log } = this.#deps;
    for (const other of await ledger.list({ accounts: "others", openOnly: true, limit: MOST_OF_OTHERS })) {
      if (this.#stop.signal.aborted) return;
      try {
        const record = await asOurs(this.#deps, other, this.#stop.signal);
        if (record !== null) this.#jobs.start(record, "finish");
      } catch (error) {
        if (!(error instanceof AudioError)) throw error;
        log.debug(`an open task of another key could not be asked for: ${error.message}`);
      }
    }
  }

  /** Ends the round that is under way. */
  async close(): Promise<void> {
    this.#stop.abort(new Error("the program is stopping"));
    await this.#round;
  }
}
