/** Waits for a narration, whichever process drives it: reads its rows, and reports its progress. */
import { Deadline } from "../deadline.ts";
import { readProgress, readStanding } from "../ledger/narration-rows.ts";
import type { Call, ProgressCount } from "../requests/call.ts";
import type { LoadedNarration } from "./load-narration.ts";
import type { NarrationAnswers } from "./narration-answers.ts";
import type { NarrationDeps } from "./narration-deps.ts";
import { describeProgress } from "./narration-messages.ts";
import { isLedgerAway } from "./round.ts";
import type { NarrationRounds } from "./rounds.ts";
import { describeListening } from "./running-playlist.ts";

/** Interval at which a call reads a narration that another process drives. */
const FOLLOW_INTERVAL_MS = 1000;
/** Pause between two messages about progress, for each part: counting the parts of a long narration costs time. */
const PROGRESS_PAUSE_PER_PART_MS = 0.5;

export class NarrationWait {
  readonly #deps: NarrationDeps;
  readonly #rounds: NarrationRounds;
  readonly #answers: NarrationAnswers;

  constructor(deps: NarrationDeps, rounds: NarrationRounds, answers: NarrationAnswers) {
    this.#deps = deps;
    this.#rounds = rounds;
    this.#answers = answers;
  }

  /** Waits while any process drives the narration, at most until the call's wait ends. */
  async wait({ narration: { id: narrationId }, plan }: LoadedNarration, call: Call): Promise<void> {
    const { ledger, clock } = this.#deps;
    const deadline = new Deadline(clock, call.waitMs);
    let reportAgainMs = Number.NEGATIVE_INFINITY;
    let hasReported = false;
    let isListeningTold = false;
    for (;;) {
      call.signal.throwIfAborted();
      try {
        const standing = await readStanding(ledger, narrationId);
        if (standing === undefined) return;
        const isDrivenHere = this.#rounds.isRunning(narrationId);
        if (!standing.isWanted && !isDrivenHere) return;
        if (clock.steadyMs() >= reportAgainMs || deadline.isOver) {
          const count = await this.#reportProgress(narrationId, call, !hasReported);
          hasReported ||= count !== null;
          reportAgainMs = clock.steadyMs() + (count?.total ?? 0) * PROGRESS_PAUSE_PER_PART_MS;
          if (count !== null && !isListeningTold) {
            const words = await describeListening(this.#deps.folder, narrationId, plan, count);
            isListeningTold = words !== "";
            if (isListeningTold) call.onProgress(words, count, true);
          }
        }
        if (deadline.isOver) return;
      } catch (error) {
        // The loop waits for the ledger, too.
        if (!isLedgerAway(error) || deadline.isOver) throw error;
      }
      const pauseMs = Math.min(FOLLOW_INTERVAL_MS, deadline.leftMs);
      await this.#rounds.waitForRound(narrationId, pauseMs, call.signal);
    }
  }

  /** Reports how far a narration is. Returns what was reported; `null` for nothing. */
  async #reportProgress(
    narrationId: string,
    { onProgress }: Call,
    isFirst: boolean,
  ): Promise<ProgressCount | null> {
    const progress = await readProgress(this.#deps.ledger, narrationId);
    // A call that finds all parts saved has at most to join them, and is about to return.
    if (progress === undefined || (isFirst && progress.savedPartCount === progress.totalPartCount))
      return null;
    const standstill = await this.#answers.explainStandstill(narrationId);
    const message = describeProgress(progress, this.#deps.clock.wallMs(), standstill);
    const count = { done: progress.savedPartCount, total: progress.totalPartCount };
    onProgress(message, count);
    return count;
  }
}
