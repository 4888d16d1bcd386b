/** Runs the loops of narrations in this process, at most one for each narration. A loop is rounds until an end. */
import { AudioError, internalError } from "../errors.ts";
import { readStanding } from "../ledger/narration-rows.ts";
import { endNarration, releaseNarration, takeNarration } from "../ledger/narration-writes.ts";
import { Changes } from "../requests/changes.ts";
import type { NarrationDeps } from "./narration-deps.ts";
import { buildProblem } from "./part-status.ts";
import { isLedgerAway, NarrationRound } from "./round.ts";

/** Changes by other processes are seen after this time. */
const ROUND_MS = 500;
/** Changes that come together are seen together. */
const MIN_ROUND_MS = 15;
/** How long a ledger that is away is left alone. */
const LEDGER_AWAY_MS = 1000;

interface Loop {
  /** Aborts when the next round is due. */
  wakeUp: AbortController;
  /** Whether a call has asked for the narration since the newest round has begun. */
  isAskedAgain: boolean;
  readonly done: Promise<void>;
}

export class NarrationRounds {
  readonly #deps: NarrationDeps;
  readonly #loops = new Map<string, Loop>();
  readonly #changes: Changes;
  readonly #closing = new AbortController();

  constructor(deps: NarrationDeps) {
    this.#deps = deps;
    this.#changes = new Changes(deps.clock);
  }

  isRunning(narrationId: string): boolean {
    return this.#loops.has(narrationId);
  }

  /** Makes sure that this process drives a narration, or waits to drive it while another process does. */
  ensure(narrationId: string): void {
    if (this.#closing.signal.aborted) return;
    const running = this.#loops.get(narrationId);
    if (running !== undefined) {
      running.isAskedAgain = true;
      running.wakeUp.abort("asked");
      return;
    }
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const loop: Loop = { wakeUp: new AbortController(), isAskedAgain: false, done };
    this.#loops.set(narrationId, loop);
    void this.#run(narrationId, loop)
      .catch((error: unknown) => this.#deps.log.error("a narration failed unexpectedly", error))
      .finally(() => {
        this.#loops.delete(narrationId);
        this.#changes.announce(narrationId);
        resolve();
        if (loop.isAskedAgain) this.ensure(narrationId);
      });
  }

  /** Resolves after the next round of this process, after `maxMs`, or when the signal aborts. */
  waitForRound(narrationId: string, maxMs: number, signal: AbortSignal): Promise<void> {
    return this.#changes.wait(narrationId, maxMs, signal);
  }

  /** Ends all loops. What is with the service is fetched by a later process. */
  async close(): Promise<void> {
    this.#closing.abort("closing");
    await Promise.all([...this.#loops.values()].map(({ done }) => done));
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    await this.#deps.clock.sleep(Math.max(0, ms), signal).catch(() => undefined);
  }

  async #run(narrationId: string, loop: Loop): Promise<void> {
    const { ledger, driver, log } = this.#deps;
    const stopRenewing = driver.keepLeases(narrationId);
    try {
      await this.#runRounds(narrationId, loop);
    } finally {
      stopRenewing();
      await releaseNarration(ledger, narrationId).catch((error: unknown) => log.debug(String(error)));
    }
  }

  async #runRounds(narrationId: string, loop: Loop): Promise<void> {
    const { signal } = this.#closing;
    let round: NarrationRound | null = null;
    let isMine = false;
    while (!signal.aborted) {
      loop.isAskedAgain = false;
      loop.wakeUp = new AbortController();
      try {
        round ??= await this.#openRound(narrationId);
        isMine ||= await takeNarration(this.#deps.ledger, narrationId);
        const outcome = isMine ? await round.run() : await this.#follow(narrationId);
        if (outcome === "lost") isMine = false;
        if (outcome === "renewed") round = null;
        if (outcome === "over" && !loop.isAskedAgain) return;
        this.#changes.announce(narrationId);
        if (outcome === "later") await this.#waitForChange(loop);
      } catch (error) {
        if (signal.aborted) return;
        if (isLedgerAway(error)) await this.#sleep(LEDGER_AWAY_MS, signal);
        else if (await this.#giveUp(narrationId, round, error)) return;
      }
    }
  }

  async #openRound(narrationId: string): Promise<NarrationRound> {
    const plan = await this.#deps.plans.get(narrationId);
    return new NarrationRound(this.#deps, narrationId, plan, this.#closing.signal);
  }

  /** Waits as long as another process drives a narration that is wanted, because that process may end. */
  async #follow(narrationId: string): Promise<"later" | "over"> {
    const standing = await readStanding(this.#deps.ledger, narrationId);
    return standing?.isWanted === true ? "later" : "over";
  }

  async #waitForChange(loop: Loop): Promise<void> {
    const signal = AbortSignal.any([this.#closing.signal, loop.wakeUp.signal]);
    await this.#deps.driver.waitForAnyChange(ROUND_MS, signal);
    await this.#sleep(MIN_ROUND_MS, signal);
  }

  /**
   * Ends a narration because of an error that concerns all of it.
   *
   * @returns false if a call has asked for it meanwhile
   */
  async #giveUp(narrationId: string, round: NarrationRound | null, thrown: unknown): Promise<boolean> {
    const { ledger, log } = this.#deps;
    if (!(thrown instanceof AudioError)) log.error("a narration failed unexpectedly", thrown);
    const error = thrown instanceof AudioError ? thrown : internalError(thrown);
    const read = round?.narration ?? null;
    if (read?.status !== "running") return true;
    const end = { status: "stopped", problem: buildProblem(error), read } as const;
    while (!this.#closing.signal.aborted) {
      try {
        return await endNarration(ledger, narrationId, end);
      } catch (failure) {
        if (!isLedgerAway(failure)) throw failure;
        await this.#sleep(LEDGER_AWAY_MS, this.#closing.signal);
      }
    }
    return true;
  }
}
