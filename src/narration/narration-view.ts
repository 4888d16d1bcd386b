/** Builds the `NarrationView`, which callers get about a narration: its totals, files and problems. */
import { MIME_TYPES } from "../contract/audio-format.ts";
import { chargeForSeconds, RESERVED_CREDITS } from "../contract/billing.ts";
import { LIMIT_WINDOW_SECONDS, SUBMISSIONS_PER_WINDOW } from "../contract/service-limits.ts";
import { takeFirstCodePoints } from "../contract/unicode.ts";
import { findNewestExisting } from "../files/newest-existing.ts";
import { type NarrationSnapshot, parseProblem, type RunPace } from "../ledger/narration-rows.ts";
import type { NarrationRow } from "../ledger/schema.ts";
import { buildNarrationFiles, findChangedCompanions, type NarrationFile } from "./narration-files.ts";
import { isWithService, listPartProblems, type NarrationProblem, type PartState } from "./part-status.ts";
import { type ChapterEstimate, estimateChapters, type PartEstimate } from "./planning/chapter-estimates.ts";
import type { Remark } from "./planning/remark.ts";
import { getPlanFormat, type StoredPlan } from "./planning/stored-plan.ts";

export type NarrationStatus = NarrationRow["status"];
export type ShownPartStatus = "not_started" | "running" | "saved" | "failed";

/** The totals that callers get about a narration. Credits and seconds are whole numbers. */
export interface NarrationTotals {
  readonly parts: {
    readonly total: number;
    readonly saved: number;
    readonly running: number;
    readonly failed: number;
    /** Saved parts for which something else has paid. */
    readonly alreadyPaid: number;
  };
  readonly credits: {
    readonly estimate: number;
    readonly charged: number;
    readonly reserved: number;
    /** Maximum cost of the narration; `null` until a call gives a limit. */
    readonly max: number | null;
    readonly suggestedMax: number;
    /** The likely charge of running tasks. */
    readonly pendingCharge: number;
  };
  readonly seconds: {
    /** Estimated seconds of audio. */
    readonly estimate: number;
    readonly saved: number;
    /** Estimated seconds until the narration is finished; `null` if the narration does not run. */
    readonly left: number | null;
  };
  /** Number of parts with a chosen speed, or with a take other than 1. */
  readonly retakenPartCount: number;
}

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
  /** Whether this call let files take the place of older files that have the same names. */
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
  /** A sentence about which narration this is, if it is not the one of the given text to the letter. */
  readonly note?: string | undefined;
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
 * Estimates the remaining seconds from the average time per part that this run has saved. Before the first part is saved, uses
 * `MIN_SECONDS_PER_PART`. Subtracts the time since the latest part was saved, but never more than half of the estimate.
 */
export function estimateSecondsLeft(
  startedAtMs: number,
  { savedCount, lastSavedAtMs }: RunPace,
  missingParts: number,
  nowMs: number,
): number {
  const lastSavedMs = lastSavedAtMs ?? startedAtMs;
  const isPaced = savedCount > 0 && lastSavedMs > startedAtMs;
  const secondsPerPart = isPaced ? (lastSavedMs - startedAtMs) / 1000 / savedCount : MIN_SECONDS_PER_PART;
  const secondsToGo = Math.max(
    missingParts * secondsPerPart,
    (missingParts - SUBMISSIONS_PER_WINDOW) * MIN_SECONDS_PER_PART,
  );
  const passedSeconds = Math.max(0, nowMs - lastSavedMs) / 1000;
  return Math.round(Math.max(secondsToGo - passedSeconds, secondsToGo / 2));
}

/** A narration with everything that its view is computed from. */
export interface ViewedNarration extends NarrationSnapshot {
  readonly plan: StoredPlan;
  readonly states: readonly PartState[];
  /** The status for callers: what nobody drives is not running. */
  readonly status: NarrationStatus;
}

export function toShownStatus(state: PartState): ShownPartStatus {
  if (state.status === "saved") return "saved";
  if (state.status === "failed" || state.status === "skipped") return "failed";
  return isWithService(state) ? "running" : "not_started";
}

/**
 * Returns the ratio of actual to estimated length of the parts with audio, limited to the range from 1/3 to 3; `null`
 * if no part has audio yet. Estimates and the suggested `max_credits` use this ratio.
 */
export function computeOwnCalibration({
  plan,
  states,
}: Pick<ViewedNarration, "plan" | "states">): number | null {
  let [estimated, actual] = [0, 0];
  for (const { part, task } of states) {
    const seconds = task?.audio_seconds ?? null;
    if (seconds === null) continue;
    estimated += plan.parts[part.position]?.estimatedSeconds ?? 0;
    actual += seconds;
  }
  return estimated === 0 ? null : Math.min(3, Math.max(1 / 3, actual / estimated));
}

/** An estimate for each part. Of equal parts, which share one task, only the first has a charge. */
interface PartOutlook extends PartEstimate {
  readonly isToPay: boolean;
}

function estimateParts({ plan, states }: ViewedNarration, calibration: number): PartOutlook[] {
  const seen = new Set<string>();
  return states.map(({ part, task, status }) => {
    const { estimatedSeconds = 0, pauseAfterSeconds = 0 } = plan.parts[part.position] ?? {};
    const isPaid = status === "saved" || task?.status === "succeeded" || task?.status === "saved";
    const isToPay = !isPaid && !seen.has(part.fingerprint);
    seen.add(part.fingerprint);
    return {
      seconds: (task?.audio_seconds ?? estimatedSeconds * calibration) + pauseAfterSeconds,
      credits: isToPay ? chargeForSeconds(estimatedSeconds * calibration) : 0,
      isToPay,
    };
  });
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/**
 * Derives the totals of a narration. The suggested limit of a stopped narration is never below its earlier limit.
 *
 * @param nowMs wall-clock time, from which the remaining seconds are estimated
 */
function deriveTotals(
  viewed: ViewedNarration,
  outlook: readonly PartOutlook[],
  nowMs: number,
): NarrationTotals {
  const { narration, states, status, bill, pace } = viewed;
  const shown = states.map(toShownStatus);
  const count = (wanted: ShownPartStatus): number => shown.filter((each) => each === wanted).length;
  const saved = states.filter(({ status: each }) => each === "saved");
  const charged = Math.round(bill.charged);
  const toCome = sum(outlook.map(({ credits }) => credits));
  const reserved = bill.spent - bill.charged;
  const needed = outlook.flatMap(({ isToPay, credits }, index) => {
    const state = states[index];
    const isNeeded = isToPay && state !== undefined && isWithService(state);
    return isNeeded && state.task?.payer === narration.id ? [credits] : [];
  });
  // Another take may have been chosen for a part that runs, so that its reservation helps nothing any more.
  const unneeded = Math.max(0, reserved - needed.length * RESERVED_CREDITS);
  const missingTasks = outlook.filter(({ isToPay }) => isToPay).length;
  const estimate = Math.round(bill.charged + toCome);
  return {
    parts: {
      total: states.length,
      saved: saved.length,
      running: count("running"),
      failed: count("failed"),
      alreadyPaid: saved.filter(({ task }) => task?.payer !== narration.id).length,
    },
    credits: {
      estimate,
      charged,
      reserved,
      max: narration.max_credits,
      suggestedMax: Math.max(
        suggestMaxCredits(charged, estimate - charged, missingTasks) + unneeded,
        status === "stopped" ? (narration.max_credits ?? 0) : 0,
      ),
      pendingCharge: Math.round(sum(needed)),
    },
    seconds: {
      estimate: Math.round(sum(outlook.map(({ seconds }) => seconds))),
      saved: Math.round(sum(saved.map(({ task }) => task?.audio_seconds ?? 0))),
      left:
        status === "running"
          ? estimateSecondsLeft(narration.started_at_ms, pace, states.length - saved.length, nowMs)
          : null,
    },
    retakenPartCount: states.filter(({ part }) => part.take !== 1 || part.speed !== null).length,
  };
}

/** Failures come first, then parts that a person should listen to. */
function listProblems(
  { narration, plan, states, status }: ViewedNarration,
  files: readonly NarrationFile[],
): NarrationView["problems"] {
  const whole = status === "stopped" ? parseProblem(narration.problem) : null;
  // Until the end, a part that failed may be tried again.
  const reported = states.filter((state) => narration.status !== "running" || state.status === "running");
  const problems: NarrationProblem[] = [
    ...(whole === null ? [] : [{ partIndex: null, ...whole }]),
    ...(status === "planned" ? [] : listPartProblems(reported)),
    ...files.flatMap(({ doubtfulPartProblems }) => doubtfulPartProblems),
  ];
  return problems.map((problem) => ({
    ...problem,
    excerpt:
      problem.partIndex === null
        ? null
        : takeFirstCodePoints(plan.parts[problem.partIndex]?.text ?? "", EXCERPT_CODE_POINTS),
  }));
}

function listUnjoinedParts({ parts }: StoredPlan, files: readonly NarrationFile[]): number[] {
  if (files.length === 0) return [];
  const missingByChapter = new Map(
    files.map(({ chapterIndex, missingPartIndexes }) => [chapterIndex, new Set(missingPartIndexes)]),
  );
  return parts.flatMap(({ chapterIndex }, index) => {
    const missing = missingByChapter.get(null) ?? missingByChapter.get(chapterIndex);
    return missing === undefined || missing.has(index) ? [index] : [];
  });
}

/**
 * Builds the `NarrationView` of a narration. Files that are not there any more are listed as missing.
 *
 * @param calibration ratio of actual to estimated length, for parts without audio
 * @param root path of the output folder
 * @param nowMs wall-clock time, from which the remaining seconds are estimated
 */
export async function buildNarrationView(
  viewed: ViewedNarration,
  calibration: number,
  root: string,
  nowMs: number,
): Promise<NarrationView> {
  const { narration, plan, status } = viewed;
  const isSheet = plan.fileLayout === "rows";
  const outlook = estimateParts(viewed, calibration);
  const files = buildNarrationFiles(viewed.files, narration, plan);
  return await withoutMissingFiles(
    {
      narrationId: narration.id,
      status,
      title: narration.title,
      isSheet,
      chapters: status === "planned" && !isSheet ? estimateChapters(plan.chapters, plan.parts, outlook) : [],
      ...deriveTotals(viewed, outlook, nowMs),
      files: files.map((file) => ({
        ...file,
        mimeType: MIME_TYPES[getPlanFormat(plan)],
        row: file.chapterIndex === null ? undefined : plan.chapters[file.chapterIndex]?.row,
      })),
      problems: listProblems(viewed, files),
      remarks: plan.remarks,
      unspoken: plan.unspoken,
      unjoinedParts: listUnjoinedParts(plan, files),
      isRepeat: false,
      argumentsToRepeat: [],
      mayReplace: viewed.mayReplace,
      hasQuoteOnlyRetake: false,
      chargedByCall: null,
      missingPaths: [],
      changedPaths: [],
      refusedLimit: null,
    },
    root,
  );
}

/** Removes missing files and changed companions from a `NarrationView`, and lists their paths in it. */
async function withoutMissingFiles(view: NarrationView, root: string): Promise<NarrationView> {
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
