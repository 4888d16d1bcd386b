/**
 * Keeps the queues, cooldowns, heartbeats and pending writes of this process for one API key. ledger/rules/admission.ts
 * decides whether a submission may be sent.
 */
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Log } from "../log.ts";
import { Heartbeats } from "./heartbeats.ts";
import { type LimitClass, LocalCooldowns } from "./local-cooldowns.ts";
import { PendingWrites } from "./pending-writes.ts";
import { ReadQueue } from "./read-queue.ts";
import { SubmissionQueue } from "./submission-queue.ts";
import { buildLimitTiming } from "./timing.ts";

export interface LimitsOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Multiplies limit windows, leases, heartbeat intervals and cooldowns, but not the budget's 24 hours. Always 1
   * outside tests.
   */
  readonly timeScale: number;
  /** Maximum number of credits that are reserved or charged in any 24 hours; `null` without a budget. */
  readonly creditBudget: number | null;
}

/** Credits that are reserved or charged. */
export interface Spending {
  /** Credits since midnight of this machine's time zone. */
  readonly today: number;
  readonly last7Days: number;
  readonly last30Days: number;
  /** The budget for any 24 hours, and how much of it is left; `null` without a budget. */
  readonly budget: { readonly credits: number; readonly leftCredits: number } | null;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Holds the queues, cooldowns, heartbeats and pending writes of this process for one API key. All requests must share
 * one object, because the limits count the requests of the whole process. {@link Limits.close} must be called before
 * the store is closed.
 */
export class Limits {
  readonly submissions: SubmissionQueue;
  readonly reads: ReadQueue;
  readonly heartbeats: Heartbeats;
  readonly pendingWrites: PendingWrites;
  readonly #options: LimitsOptions;
  readonly #cooldowns: LocalCooldowns;

  constructor(options: LimitsOptions) {
    const { ledger, clock, log, timeScale, creditBudget } = options;
    const timing = buildLimitTiming(timeScale);
    const cooldowns = new LocalCooldowns(clock);
    this.#options = options;
    this.#cooldowns = cooldowns;
    this.heartbeats = new Heartbeats({
      clock,
      log,
      heartbeatMs: timing.heartbeatMs,
      renewalMs: ledger.leaseTtlMs / 3,
      heartbeat: (recordIds) => ledger.store.heartbeat(recordIds),
    });
    this.pendingWrites = new PendingWrites({ clock, log, retryIntervalMs: timing.heartbeatMs });
    const { heartbeats, pendingWrites } = this;
    this.submissions = new SubmissionQueue({
      ledger,
      clock,
      creditBudget,
      timing,
      cooldowns,
      heartbeats,
      pendingWrites,
    });
    this.reads = new ReadQueue({ clock, timing, cooldowns });
  }

  /**
   * Starts the cooldown that a 429 of the service demands. A cooldown of submissions applies to every process that uses
   * this API key and store. A cooldown of reads applies to this process only.
   *
   * @param retryAfterSeconds the wait that the service stated, already limited to the maximum. This method multiplies
   *   it by the time scale
   */
  async startCooldown(limitClass: LimitClass, retryAfterSeconds: number): Promise<void> {
    const { clock, ledger, timeScale } = this.#options;
    const ms = retryAfterSeconds * 1000 * timeScale;
    const endsSteadyMs = clock.steadyMs() + ms;
    this.#cooldowns.set(limitClass, ms);
    if (limitClass === "reads") return;
    await this.pendingWrites.writeNowOrLater("a cooldown", async () => {
      const leftMs = endsSteadyMs - clock.steadyMs();
      if (leftMs > 0) await ledger.store.admissions.startCooldown(leftMs);
    });
  }

  /** Returns the credits that all API keys have spent at this service, and the rest of the budget. */
  async sumSpending(): Promise<Spending> {
    const { clock, ledger, creditBudget } = this.#options;
    const nowWallMs = clock.wallMs();
    const sinceMidnightMs = nowWallMs - new Date(nowWallMs).setHours(0, 0, 0, 0);
    const [today = 0, last7Days = 0, last30Days = 0, lastDay = 0] = await Promise.all(
      [sinceMidnightMs, 7 * DAY_MS, 30 * DAY_MS, DAY_MS].map((ms) =>
        ledger.store.admissions.sumSpentCredits(ms),
      ),
    );
    const budget =
      creditBudget === null
        ? null
        : { credits: creditBudget, leftCredits: Math.max(0, creditBudget - lastDay) };
    return { today, last7Days, last30Days, budget };
  }

  /** Stops heartbeats and rejects all waiting requests. The store stays open. */
  async close(): Promise<void> {
    const closing = new AudioError("store_unavailable", "The server is stopping; nothing was sent.", {
      retryable: true,
    });
    this.reads.close(closing);
    await this.submissions.close(closing);
    this.heartbeats.close();
    await this.pendingWrites.close();
  }
}
