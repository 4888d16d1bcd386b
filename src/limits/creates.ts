/** Owns the queue of creates and what becomes of each slot; knows neither reads nor the request that is sent. */
import type { Clock } from "../clock.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { CREATES_PER_WINDOW, IN_FLIGHT_TASKS } from "../contract/limits.ts";
import { AudioError } from "../errors.ts";
import type { AccountId, Coordinator, CreateOutcome, HolderId } from "../ledger/coordinator.ts";
import type { Housekeeping } from "./housekeeping.ts";
import type { LocalPauses } from "./local-pauses.ts";
import { BUDGET_WINDOW_MS, type LimitTiming } from "./timing.ts";
import { type Answer, WaitingLine } from "./waiting-line.ts";

export type WaitReason = "paused" | "rate" | "in_flight";

export interface CreateOrder {
  readonly recordId: string;
  readonly attempt: number;
  onWaiting(reason: WaitReason, waitMs: number): void;
}

export interface CreateSlot {
  /** Tells how the create went. Never rejects: what the store cannot be told now, it is told later. */
  settle(outcome: CreateOutcome): Promise<void>;
}

export interface CreatesOptions {
  readonly coordinator: Coordinator;
  readonly clock: Clock;
  readonly accountId: AccountId;
  readonly origin: string;
  readonly holder: HolderId;
  readonly creditBudget: number | null;
  readonly timing: LimitTiming;
  readonly pauses: LocalPauses;
  readonly housekeeping: Housekeeping;
}

const watchNameOf = (recordId: string): string => `unanswered ${recordId}`;

export class Creates {
  readonly #options: CreatesOptions;
  readonly #line: WaitingLine<CreateOrder, string, WaitReason>;

  constructor(options: CreatesOptions) {
    this.#options = options;
    this.#line = new WaitingLine({
      clock: options.clock,
      ask: (order) => this.#ask(order),
      failsAll: (error) => !(error instanceof AudioError && error.code === "budget_exceeded"),
      giveBack: (slotId) => options.coordinator.settleCreate(slotId, "unsent"),
      // It holds an in-flight slot already: behind a job that waits for that slot, both would wait.
      isUrgent: (order) => options.housekeeping.isWatched(watchNameOf(order.recordId)),
      onWaiting: (order, reason, waitMs) => order.onWaiting(reason, waitMs),
    });
  }

  /** See {@link import("./limits.ts").Limits.admitCreate}. */
  async admit(order: CreateOrder, signal: AbortSignal): Promise<CreateSlot> {
    if (this.#line.length > 0) await this.#refuseOverBudget(order);
    const slotId = await this.#line.enter(order, signal);
    this.#options.housekeeping.watch(slotId);
    let isSettled = false;
    return {
      settle: async (outcome) => {
        if (isSettled) return;
        isSettled = true;
        await this.#settle(slotId, order.recordId, outcome);
      },
    };
  }

  /** A task of this process ended: whoever waits for its slot asks now. */
  freed(recordId: string): void {
    this.#options.housekeeping.unwatch(watchNameOf(recordId));
    this.#line.wake();
  }

  dismiss(error: unknown): void {
    this.#line.dismiss(error);
  }

  /** Behind others nobody asks for this order yet; over the budget, its turn would bring nothing but this. */
  async #refuseOverBudget({ recordId, attempt }: CreateOrder): Promise<void> {
    const { creditBudget, coordinator, origin } = this.#options;
    if (creditBudget === null) return;
    const query = { origin, recordId, attempt, windowMs: BUDGET_WINDOW_MS };
    const counted = await coordinator.countCredits(query);
    if (counted + RESERVED_CREDITS > creditBudget) throw overBudget(creditBudget, counted);
  }

  async #settle(slotId: string, recordId: string, outcome: CreateOutcome): Promise<void> {
    const { housekeeping, coordinator, timing } = this.#options;
    // A repeat of the send is to be expected; its slot lapses by then should it never come.
    if (outcome === "unanswered") housekeeping.watch(watchNameOf(recordId), timing.windowMs + timing.lapseMs);
    else if (outcome === "accepted") housekeeping.unwatch(watchNameOf(recordId));
    await housekeeping.report("how a create went", async () => {
      await coordinator.settleCreate(slotId, outcome);
      housekeeping.unwatch(slotId);
    });
    if (outcome === "refused" || outcome === "unsent") this.#line.wake();
  }

  async #ask(order: CreateOrder): Promise<Answer<string, WaitReason>> {
    const { coordinator, creditBudget, timing, pauses } = this.#options;
    const pausedMs = pauses.leftMs("creates");
    if (pausedMs > 0) return { refused: "paused", waitMs: Math.ceil(pausedMs) };
    const admission = await coordinator.admitCreate({
      accountId: this.#options.accountId,
      origin: this.#options.origin,
      recordId: order.recordId,
      attempt: order.attempt,
      holder: this.#options.holder,
      maxCreates: CREATES_PER_WINDOW,
      windowMs: timing.windowMs,
      maxInFlight: IN_FLIGHT_TASKS,
      lapseMs: timing.lapseMs,
      credits: RESERVED_CREDITS,
      budget: creditBudget === null ? null : { credits: creditBudget, windowMs: BUDGET_WINDOW_MS },
    });
    if (admission.admitted) return { granted: admission.slotId };
    if (admission.reason === "budget") throw overBudget(creditBudget ?? 0, admission.countedCredits);
    // The end of another process's task is not told to this one.
    const mostMs = admission.reason === "in_flight" ? timing.inFlightPollMs : Number.POSITIVE_INFINITY;
    return { refused: admission.reason, waitMs: Math.max(1, Math.ceil(Math.min(mostMs, admission.waitMs))) };
  }
}

function overBudget(budget: number, counted: number): AudioError {
  return new AudioError(
    "budget_exceeded",
    `The credit budget of ${budget} for any 24 hours leaves no room for another audio: ${counted} credits are reserved or charged, and each new audio reserves ${RESERVED_CREDITS}. Nothing was sent.`,
    {
      remedy:
        "Ask the person to raise AUDIO_CREDIT_BUDGET, or wait until earlier audio is finished (it then counts its charge alone) or is more than 24 hours old.",
    },
  );
}
