/** Builds the `NarrationView`, which callers get about a narration: its totals, files and problems. */

import { MIME_TYPES } from "../../contract/audio-format.ts";
import { RESERVED_CREDITS } from "../../contract/billing.ts";
import { LIMIT_WINDOW_SECONDS, SUBMISSIONS_PER_WINDOW } from "../../contract/service-limits.ts";
import { takeFirstCodePoints } from "../../contract/unicode.ts";
import { findNewestExisting } from "../../files/newest-existing.ts";
import { findChangedCompanions } from "../files/joined-files.ts";
import { type ChapterEstimate, estimateChapters } from "../planning/chapter-estimates.ts";
import type { NarrationEntry, NarrationWithPlan } from "../state/narration-repository.ts";
import {
  getPlanFormat,
  type NarrationFile,
  type NarrationProblem,
  type NarrationState,
  type NarrationTotals,
  type StoredPlan,
} from "../state/narration-state.ts";
import type { PartSummary } from "../state/part-summary.ts";
import type { Remark } from "../state/remark.ts";

export type NarrationStatus = NarrationState["status"];

export interface NarrationView extends NarrationTotals {
  readonly narrationId: string;
  readonly status: NarrationStatus;
  readonly title: string;
  /** Whether the text is a sheet, which may have a thousand files. */
  readonly isSheet: boolean;
  /** Estimated length and remaining cost of each chapter of a plan; empty for a text with fewer than two chapters. */
  readonly chapters: readonly ChapterEstimate[];
  /** The saved files. A file of a sheet has the number of its row. */
  readonly files: ReadonlyArray<
    NarrationFile & { readonly mimeType: string; readonly row?: number | undefined }
  >;
  readonly problems: ReadonlyArray<NarrationProblem & { readonly excerpt: string | null }>;
  /** Remarks on the plan, in whole sentences. */
  readonly remarks: readonly Remark[];
  /** Complete sentences about what is not spoken. */
  readonly unspoken: readonly string[];
  /** Indexes of the parts that are missing from the files. Empty until there is a file. */
  readonly unjoinedParts: readonly number[];
  /** True if the narration was already finished before this call and this call cost nothing. */
  readonly isRepeat: boolean;
  /** Arguments that the next call must repeat. This call did not store them, because it only showed the plan. */
  readonly argumentsToRepeat: readonly string[];
  /** Whether the narration's files may replace older files that have the same names. */
  readonly mayReplace: boolean;
  /** Whether the call requests a retake that states neither a take nor a speed. */
  readonly hasQuoteOnlyRetake: boolean;
  /** The charge of this call, if the narration was finished before and the call cost something; otherwise `null`. */
  readonly chargedByCall: number | null;
  /** Paths of saved files that were moved or deleted, or that are on another machine. */
  readonly missingPaths: readonly string[];
  /** Paths of companions that were changed or deleted since they were saved. */
  readonly changedPaths: readonly string[];
  /** A credit limit that was refused because it is below the suggested limit; `null` if no limit was refused. */
  readonly refusedLimit: number | null;
}

const EXCERPT_CODE_POINTS = 60;

/**
 * The suggested credit limit contains the estimated charge times this factor, because parts may become longer than
 * estimated.
 */
const ESTIMATE_MARGIN = 1.2;

/**
 * Returns the suggested credit limit: the likely charge with a margin for longer parts, plus two reservations. The two
 * reservations let two tasks run at a time until the end. The suggestion never exceeds the credits charged so far plus
 * the maximum cost of the missing tasks.
 */
function suggestMaxCredits(charged: number, toCome: number, missingTasks: number): number {
  if (missingTasks === 0) return charged;
  const likely = Math.ceil(ESTIMATE_MARGIN * toCome) + 2 * RESERVED_CREDITS;
  return charged + Math.min(likely, RESERVED_CREDITS * missingTasks);
}

/**
 * Minimum seconds per part, on average, because the service limits the submissions per minute. The first few parts take
 * less time, because their submissions may be sent at once.
 */
const MIN_SECONDS_PER_PART = LIMIT_WINDOW_SECONDS / SUBMISSIONS_PER_WINDOW;

/**
 * Estimates the remaining seconds from the average time per saved part. Before the first part is saved, uses
 * `MIN_SECONDS_PER_PART`. Subtracts the time since the latest part was saved, but never more than half of the estimate.
 */
export function estimateSecondsLeft(state: NarrationState, saved: number, nowMs: number): number {
  const { startedAtMs, lastSavedAtMs, savedPartCountAtStart, totalPartCount } = state;
  const savedNow = saved - savedPartCountAtStart;
  const startedMs = startedAtMs ?? nowMs;
  const lastSavedMs = lastSavedAtMs ?? startedMs;
  const isPaced = savedNow > 0 && lastSavedMs > startedMs;
  const secondsPerPart = isPaced ? (lastSavedMs - startedMs) / 1000 / savedNow : MIN_SECONDS_PER_PART;
  const missingParts = totalPartCount - saved;
  const secondsToGo = Math.max(
    missingParts * secondsPerPart,
    (missingParts - SUBMISSIONS_PER_WINDOW) * MIN_SECONDS_PER_PART,
  );
  const passedSeconds = Math.max(0, nowMs - lastSavedMs) / 1000;
  return Math.round(Math.max(secondsToGo - passedSeconds, secondsToGo / 2));
}

/**
 * Returns the stored status. If the narration is stored as running but has no driver, returns `stopped`, because its
 * process has ended.
 */
export function deriveNarrationStatus({ state, leaseOwner }: NarrationEntry): NarrationStatus {
  return state.status === "running" && leaseOwner === null ? "stopped" : state.status;
}

/**
 * Builds the `NarrationView` of a narration from its current totals. Adds an estimate for each chapter if the narration
 * is only planned and is not a sheet. Does not check whether the files still exist; see {@link withoutMissingFiles}.
 *
 * @param nowMs wall-clock time, from which the remaining seconds are estimated
 */
export function buildNarrationView(
  narration: NarrationWithPlan,
  partSummary: PartSummary,
  nowMs: number,
): NarrationView {
  const { plan } = narration;
  const view = assembleNarrationView(narration, deriveTotals(narration, partSummary, nowMs));
  if (view.status !== "planned" || view.isSheet) return view;
  return { ...view, chapters: estimateChapters(plan.chapters, plan.parts, partSummary.estimates) };
}

/**
 * Derives the totals of a narration from its state and the summary of its parts. Rounds charged credits and durations
 * to whole numbers. The suggested limit of a stopped narration is never below its earlier limit.
 *
 * @param nowMs wall-clock time, from which the remaining seconds are estimated
 */
export function deriveTotals(
  narration: NarrationWithPlan,
  partSummary: PartSummary,
  nowMs: number,
): NarrationTotals {
  const { state } = narration;
  const count = (status: PartSummary["statuses"][number]): number =>
    partSummary.statuses.filter((other) => other === status).length;
  const savedParts = count("saved");
  const charged = Math.round(partSummary.chargedCredits);
  return {
    parts: {
      total: state.totalPartCount,
      saved: savedParts,
      running: count("running"),
      failed: count("failed"),
      alreadyPaid: partSummary.alreadyPaidCount,
    },
    credits: {
      estimate: partSummary.estimatedCredits,
      charged,
      reserved: partSummary.reservedCredits,
      max: state.maxCredits,
      // For a stopped narration, suggest at least its earlier credit limit, so that the caller does not lower the
      // limit.
      suggestedMax: Math.max(
        suggestMaxCredits(charged, partSummary.estimatedCredits - charged, partSummary.unfinishedTaskCount) +
          partSummary.unneededReservedCredits,
        deriveNarrationStatus(narration) === "stopped" ? (state.maxCredits ?? 0) : 0,
      ),
      pendingCharge: partSummary.pendingChargeCredits,
    },
    seconds: {
      estimate: Math.round(partSummary.estimatedSeconds),
      saved: Math.round(partSummary.savedSeconds),
      left:
        deriveNarrationStatus(narration) === "running" ? estimateSecondsLeft(state, savedParts, nowMs) : null,
    },
    retakenPartCount: state.retakes.length,
  };
}

/**
 * Builds the `NarrationView` of a narration from its totals.
 *
 * @param totals the current totals, or the totals that were stored when an MCP task ended
 */
export function assembleNarrationView(narration: NarrationWithPlan, totals: NarrationTotals): NarrationView {
  const { narrationId, plan, state } = narration;
  const status = deriveNarrationStatus(narration);
  const mimeType = MIME_TYPES[getPlanFormat(plan)];
  return {
    narrationId,
    status,
    title: state.title,
    isSheet: plan.fileLayout === "rows",
    chapters: [],
    ...totals,
    files: state.files.map((file) => ({
      ...file,
      mimeType,
      row: file.chapterIndex === null ? undefined : plan.chapters[file.chapterIndex]?.row,
    })),
    // Failures come first, then parts that a person should listen to.
    problems: [
      ...state.problems,
      ...state.files.flatMap(({ doubtfulPartProblems }) => doubtfulPartProblems),
    ].map((problem) => ({
      ...problem,
      excerpt:
        problem.partIndex === null
          ? null
          : takeFirstCodePoints(plan.parts[problem.partIndex]?.text ?? "", EXCERPT_CODE_POINTS),
    })),
    remarks: state.remarks,
    unspoken: state.unspoken,
    unjoinedParts: listUnjoinedParts(plan, state),
    isRepeat: false,
    argumentsToRepeat: [],
    mayReplace: state.mayReplace,
    hasQuoteOnlyRetake: false,
    chargedByCall: null,
    missingPaths: [],
    changedPaths: [],
    refusedLimit: null,
  };
}

function listUnjoinedParts(plan: StoredPlan, { files }: NarrationState): number[] {
  if (files.length === 0) return [];
  const missingByChapter = new Map(
    files.map(({ chapterIndex, missingPartIndexes }) => [chapterIndex, new Set(missingPartIndexes)]),
  );
  return plan.parts.flatMap(({ chapterIndex }, index) => {
    const missing = missingByChapter.get(null) ?? missingByChapter.get(chapterIndex);
    return missing === undefined || missing.has(index) ? [index] : [];
  });
}

/**
 * Removes missing files and changed companions from a `NarrationView`, and lists their paths in it.
 *
 * @param root path of the output folder
 */
export async function withoutMissingFiles(view: NarrationView, root: string): Promise<NarrationView> {
  const paths = await Promise.all(view.files.map((file) => findNewestExisting([file], root)));
  const files = view.files.filter((_, index) => paths[index] !== null);
  const changed = (await Promise.all(files.map((file) => findChangedCompanions(file, root)))).flat();
  const nullIfChanged = <Saved extends { readonly path: string }>(saved: Saved | null): Saved | null =>
    saved === null || changed.includes(saved.path) ? null : saved;
  return {
    ...view,
    files: files.map((file): NarrationView["files"][number] => ({
      ...file,
      captionsFile: nullIfChanged(file.captionsFile),
      srtFile: nullIfChanged(file.srtFile ?? null) ?? undefined,
      chaptersFile: nullIfChanged(file.chaptersFile),
    })),
    changedPaths: changed,
    missingPaths: view.files.filter((_, index) => paths[index] === null).map(({ path }) => path),
  };
}
