/** Builds the `NarrationView`, which callers get about a narration: its totals, files and problems. */
import { join } from "node:path";
import { chargeForSeconds, MINIMUM_CHARGE_SECONDS, RESERVED_CREDITS } from "../contract/billing.ts";
import { MAX_CONCURRENT_TASKS } from "../contract/service-limits.ts";
import { takeFirstCodePoints } from "../contract/unicode.ts";
import { probeNameAvailability } from "../files/free-names.ts";
import { listSavedAt } from "../ledger/file-rows.ts";
import { type NarrationSnapshot, parseProblem } from "../ledger/narration-rows.ts";
import type { FileRow, NarrationRow, PartRow } from "../ledger/schema.ts";
import type { Standstill } from "../requests/activity.ts";
import type { RequestDeps } from "../requests/deps.ts";
import { readCalibration } from "../requests/estimate-calibration.ts";
import { keepPresent } from "../requests/saved-audio.ts";
import { buildFileName, isFreeInOtherFormats } from "./narration-file-names.ts";
import { buildNarrationFiles, findReplaceable, isFileIntact, type NarrationFile } from "./narration-files.ts";
import { isWithService, listPartProblems, type NarrationProblem, type PartState } from "./part-status.ts";
import { getPartSpeed } from "./parts.ts";
import { listPlannedFiles } from "./planned-files.ts";
import { type ChapterEstimate, estimateChapters, type PartEstimate } from "./planning/chapter-estimates.ts";
import { getPlanFormat, type Remark, type StoredPlan } from "./planning/stored-plan.ts";
import { estimateSecondsLeft } from "./time-left.ts";

export type NarrationStatus = NarrationRow["status"];
export type ShownPartStatus = "not_started" | "running" | "saved" | "failed";

/** The totals that callers get about a narration. Credits and seconds are whole numbers. */
export type NarrationTotals = ReturnType<typeof deriveTotals>;

export interface NarrationView extends NarrationTotals {
  readonly narrationId: string;
  readonly status: NarrationStatus;
  readonly title: string;
  /** Whether the text is a sheet, which may have a thousand files. */
  readonly isSheet: boolean;
  /** Estimated length and remaining cost of each chapter of a plan; empty for a text with fewer than two chapters. */
  readonly chapters: readonly ChapterEstimate[];
  /** Number of files if each chapter becomes one; `null` for other files. */
  readonly chapterFileCount: number | null;
  /** Whether the plan holds only chapters that were chosen. */
  readonly isOfChosen: boolean;
  /** Whether it is of subtitles, so that its parts have times to keep. */
  readonly isTimed: boolean;
  /** Whether a chapter that is still to be made can be chosen, so that it comes sooner. */
  readonly canChooseSooner: boolean;
  /** The saved files that are there. */
  readonly files: readonly NarrationFile[];
  readonly problems: ReadonlyArray<NarrationProblem & { readonly excerpt: string | null }>;
  /** Remarks on the plan, in whole sentences. */
  readonly remarks: readonly Remark[];
  /** Complete sentences about what is not spoken. */
  readonly unspoken: readonly string[];
  /** Indexes of the parts that are missing from the files. Empty until there is a file. */
  readonly unjoinedParts: readonly number[];
  /**
   * Whether `replace` gives a numbered file of a finished narration its name. `foreign` if the files of those names are
   * not this server's, or have changed; `null` if nothing can be said.
   */
  readonly takenNames: "replaceable" | "foreign" | null;
  /** Paths of saved files that were moved or deleted, or that are on another machine. */
  readonly missingPaths: readonly string[];
  /** Paths of companions that were changed or deleted since they were saved. */
  readonly changedPaths: readonly string[];
  /** Paths of files that were joined before another take or speed was chosen for a part, which is not made yet. */
  readonly outdatedPaths: readonly string[];
  /** The least limit for other takes of all parts that delay cues. */
  readonly lateMax: number;
  /** Paths of files of a sheet that are as they were before. */
  readonly keptPaths: readonly string[];
  /** Where what is saved is joined if the whole never is; `null` for several files. */
  readonly incompletePath: string | null;
  /** How it can be heard while it is made; may be empty. */
  readonly listening: string;
  // What the call adds to what the rows say:
  /** Whether the narration was already finished before this call and this call cost nothing. */
  readonly isRepeat?: boolean;
  /** A wait that this client has borne, if it is shorter than the default. */
  readonly nextWaitSeconds?: number;
  /** Whether the call had a limit, and the plan is shown first all the same. */
  readonly isLimited?: boolean;
  /** Whether the call was to stop it. */
  readonly isStop?: boolean;
  /** Arguments that the next call must repeat. This call did not store them, because it only showed the plan. */
  readonly argumentsToRepeat?: readonly string[];
  /** Whether the call requests a retake that states neither a take nor a speed. */
  readonly hasQuoteOnlyRetake?: boolean;
  /** The charge of this call, if the narration was finished before and the call cost something. */
  readonly chargedByCall?: number | undefined;
  /** A credit limit that was refused because it is unlikely to suffice. */
  readonly refusedLimit?: number;
  /** Whether the plan changes a finished narration, which a low limit must not make unfinished. */
  readonly isReopened?: boolean;
  /** A sentence about which narration this is, if it is not the one of the given text to the letter. */
  readonly note?: string;
  /** A sentence about why no part of a running narration gets on; absent if one does. */
  readonly standstill?: Standstill;
  /** Running narrations to which parts belong that are still to be made. */
  readonly sharedWith?: readonly string[];
}

/** Whether it was just stopped, so that what is saved is joined after the call has returned. */
export const isJoinedLater = ({ problems, files, isSheet, parts }: NarrationView): boolean =>
  problems[0]?.code === "stopped" && files.length === 0 && !isSheet && parts.saved + parts.running > 0;

const EXCERPT_CODE_POINTS = 60;

/**
 * The suggested credit limit contains the estimated charges times this factor, because parts may become longer than
 * estimated.
 */
const ESTIMATE_MARGIN = 1.2;

/**
 * Returns the lowest limit that lets the last missing tasks begin together, if those before them cost as much as
 * estimated times the margin. A task reserves its maximum, so the last ones count with their reservations, whatever they
 * cost.
 *
 * @param prices the estimated charges of the missing tasks, in the order in which they are made
 */
function sumLimit(charged: number, prices: readonly number[], margin: number, together: number): number {
  const earlierCount = Math.max(0, prices.length - together);
  const earlier = Math.ceil(margin * sum(prices.slice(0, earlierCount)));
  const last = RESERVED_CREDITS * (prices.length - earlierCount);
  return charged + Math.min(earlier, RESERVED_CREDITS * earlierCount) + last;
}

/** Derives the status for callers: what nobody wants and this process does not drive is not running. */
export const deriveNarrationStatus = (
  { narration: { id, status }, isWanted }: Pick<NarrationSnapshot, "narration" | "isWanted">,
  isRunning: (narrationId: string) => boolean,
): NarrationStatus => (status === "running" && !isWanted && !isRunning(id) ? "stopped" : status);

/** A narration with everything that its view is computed from. */
export interface ViewedNarration extends NarrationSnapshot {
  readonly plan: StoredPlan;
  readonly states: readonly PartState[];
  readonly status: NarrationStatus;
}

/** Whether the service has the part. What it has not answered may be there too, or not. */
const isAccepted = (state: PartState): boolean => isWithService(state) && state.task?.task_id != null;

export function toShownStatus(state: PartState): ShownPartStatus {
  if (state.status === "saved") return "saved";
  if (state.status === "failed" || state.status === "skipped") return "failed";
  return isAccepted(state) ? "running" : "not_started";
}

/** Estimates the length of a part at the speed that was chosen for it. */
const estimateSeconds = (plan: StoredPlan, { position, speed }: PartRow): number =>
  ((plan.parts[position]?.estimatedSeconds ?? 0) * getPartSpeed(plan, position, null)) /
  getPartSpeed(plan, position, speed);

/**
 * Returns the ratio of actual to estimated length of the parts with audio, limited to the range from 1/3 to 3; `null`
 * if no part has audio yet. Estimates and the suggested `max_credits` use this ratio.
 */
function computeOwnCalibration({ plan, states }: ViewedNarration): number | null {
  let [estimated, actual] = [0, 0];
  for (const { part, task } of states) {
    const seconds = task?.audio_seconds ?? null;
    if (seconds === null) continue;
    estimated += estimateSeconds(plan, part);
    actual += seconds;
  }
  return estimated === 0 ? null : Math.min(3, Math.max(1 / 3, actual / estimated));
}

/** A part with its estimate. Of equal parts, which share one task, only the first has a charge. */
interface PartOutlook extends PartState, PartEstimate {
  readonly isToPay: boolean;
  /** Without the pause that follows. */
  readonly speechSeconds: number;
}

function estimateParts({ plan, states, status: whole }: ViewedNarration, calibration: number): PartOutlook[] {
  const seen = new Set<string>();
  return states.map((state) => {
    const { part, task, status } = state;
    const { pauseAfterSeconds = 0 } = plan.parts[part.position] ?? {};
    const estimatedSeconds = estimateSeconds(plan, part);
    const isPaid = status === "saved" || task?.status === "succeeded" || task?.status === "saved";
    const isLeftOut = whole === "planned" && status === "skipped";
    const isToPay = !isPaid && !isLeftOut && !seen.has(part.fingerprint);
    seen.add(part.fingerprint);
    const speechSeconds = task?.audio_seconds ?? estimatedSeconds * calibration;
    return {
      ...state,
      speechSeconds,
      seconds: speechSeconds + pauseAfterSeconds,
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
  { narration, status, bill, pace }: ViewedNarration,
  outlook: readonly PartOutlook[],
  nowMs: number,
) {
  const count = (wanted: ShownPartStatus): number =>
    outlook.filter((part) => toShownStatus(part) === wanted).length;
  const saved = outlook.filter((part) => part.status === "saved");
  const charged = Math.round(bill.charged);
  const estimate = Math.round(bill.charged + sum(outlook.map(({ credits }) => credits)));
  const reserved = bill.spent - bill.charged;
  const toPay = outlook.filter(({ isToPay }) => isToPay);
  const needed = toPay.filter((part) => isWithService(part) && part.task?.payer === narration.id);
  const prices = toPay.map(({ credits }) => credits);
  // Another take may have been chosen for a part that runs, so that its reservation helps nothing any more.
  const unneeded = Math.max(0, reserved - needed.length * RESERVED_CREDITS);
  const isToCome = ({ status: each }: PartOutlook): boolean =>
    each !== "saved" && each !== "failed" && each !== "skipped";
  const toCome = status === "running" ? outlook.filter(isToCome) : toPay;
  const missingCount = new Set(toCome.map(({ part }) => part.fingerprint)).size;
  return {
    /** The requests whose audio is still to be saved. Equal parts share one. */
    missingCount,
    parts: {
      total: outlook.length,
      saved: saved.length,
      running: count("running"),
      failed: count("failed"),
      /** Saved parts for which something else has paid. */
      alreadyPaid: saved.filter(({ task }) => task?.payer !== narration.id).length,
    },
    credits: {
      estimate,
      charged,
      reserved,
      /** Maximum cost of the narration; `null` until a call gives a limit. */
      max: narration.max_credits,
      /** Lets the service make two parts at once to the end, also if they come out longer than estimated. */
      suggestedMax: Math.max(
        sumLimit(charged, prices, ESTIMATE_MARGIN, MAX_CONCURRENT_TASKS) + unneeded,
        status === "stopped" ? (narration.max_credits ?? 0) : 0,
      ),
      /** The lowest limit that reaches the end if no part comes out longer than estimated. */
      leastMax: sumLimit(charged, prices, 1, 1) + unneeded,
      /** The likely charge of running tasks. */
      pendingCharge: Math.round(sum(needed.filter(isAccepted).map(({ credits }) => credits))),
    },
    seconds: {
      /** Estimated seconds of audio. */
      estimate: Math.round(sum(outlook.map(({ seconds }) => seconds))),
      saved: Math.round(sum(saved.map(({ seconds }) => seconds))),
      /** Estimated seconds until the narration is finished; `null` if the narration does not run. */
      left: status === "running" ? estimateSecondsLeft(pace, missingCount, nowMs) : null,
    },
    /** Number of parts to pay for that are so short that each costs the least that is charged. */
    shortPartCount: toPay.filter(({ speechSeconds }) => speechSeconds < MINIMUM_CHARGE_SECONDS).length,
    /** Number of parts with a chosen speed, or with a take other than 1. */
    retakenPartCount: outlook.filter(({ part }) => part.take !== 1 || part.speed !== null).length,
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
    files.map(({ audio, missingPartIndexes }) => [audio.chapter, new Set(missingPartIndexes)]),
  );
  return parts.flatMap(({ chapterIndex }, index) => {
    const missing = missingByChapter.get(null) ?? missingByChapter.get(chapterIndex);
    return missing === undefined || missing.has(index) ? [index] : [];
  });
}

/** Whether several chapters are still to be made. The parts of one are made in their order. */
function canChooseSooner({ plan, states }: ViewedNarration): boolean {
  if (plan.fileLayout === "rows") return false;
  const missing = states.filter(({ status }) => status !== "saved");
  return new Set(missing.map(({ part }) => plan.parts[part.position]?.chapterIndex)).size > 1;
}

/** Whether a whole file lacks what was chosen for one of its parts since, because that is not made yet. */
const isOutdated = (
  { audio, isIncomplete, missingPartIndexes }: NarrationFile,
  { plan, states }: ViewedNarration,
): boolean =>
  !isIncomplete &&
  states.some(
    ({ part: { position }, status }) =>
      (audio.chapter === null || plan.parts[position]?.chapterIndex === audio.chapter) &&
      status !== "saved" &&
      status !== "skipped" &&
      !missingPartIndexes.includes(position),
  );

function buildIncompletePath(narration: NarrationRow, plan: StoredPlan, root: string): string | null {
  if (plan.fileLayout !== "one") return null;
  return join(root, buildFileName({ narration, plan, file: { chapterIndex: null }, isComplete: false }));
}

/** Builds the `NarrationView` of a narration, as the rows say it. */
export async function buildNarrationView(
  deps: Pick<RequestDeps, "ledger" | "clock" | "folder" | "log">,
  viewed: ViewedNarration,
): Promise<NarrationView> {
  const { narration, plan, status } = viewed;
  const isSheet = plan.fileLayout === "rows";
  const calibration =
    computeOwnCalibration(viewed) ?? (await readCalibration(deps, plan.settings.voice ?? null));
  const outlook = estimateParts(viewed, calibration);
  const files = buildNarrationFiles(viewed.files, narration, plan);
  const checked = await checkFiles(deps, files);
  const totals = deriveTotals(viewed, outlook, deps.clock.wallMs());
  const delaying = files.flatMap(({ doubtfulPartProblems }) =>
    doubtfulPartProblems.flatMap(({ code, partIndex }) => (code === "late" ? (partIndex ?? []) : [])),
  );
  const latePrices = delaying.map((index) => chargeForSeconds(outlook[index]?.speechSeconds ?? 0));
  return {
    narrationId: narration.id,
    status,
    title: narration.title,
    isSheet,
    chapters: status === "planned" && !isSheet ? estimateChapters(plan.chapters, plan.parts, outlook) : [],
    chapterFileCount:
      plan.fileLayout === "chapters" && plan.timelineEndSeconds === undefined
        ? listPlannedFiles(plan).length
        : null,
    isOfChosen: plan.wholeTitle !== undefined || (isSheet && plan.parts.length < plan.chapters.length),
    isTimed: plan.timelineEndSeconds !== undefined,
    canChooseSooner: canChooseSooner(viewed),
    ...totals,
    lateMax: sumLimit(totals.credits.charged, latePrices, 1, 1),
    ...checked,
    problems: listProblems(viewed, files),
    remarks: plan.remarks,
    unspoken: plan.unspoken,
    unjoinedParts: listUnjoinedParts(plan, files),
    outdatedPaths: files.flatMap((file) => (isOutdated(file, viewed) ? [file.audio.path] : [])),
    keptPaths: isSheet && status === "finished" ? await listKeptPaths(deps, checked.files) : [],
    incompletePath: buildIncompletePath(narration, plan, deps.folder.root),
    // The player in the chat finds this sentence, and promises no part.
    listening: getPlanFormat(plan) === "pcm" ? "In pcm, only the joined file can be played." : "",
    takenNames: status === "finished" ? await judgeTakenNames(deps, checked.files, plan) : null,
  };
}

/** Lists the files that another narration or request has saved before with the same bytes. */
async function listKeptPaths(
  { ledger }: Pick<RequestDeps, "ledger">,
  files: readonly NarrationFile[],
): Promise<string[]> {
  const paths = files.map(({ audio }) => audio.path);
  const saved = Map.groupBy(await listSavedAt(ledger, paths), ({ path }) => path);
  return paths.filter((path, index) =>
    saved.get(path)?.some((other) => {
      const audio = files[index]?.audio;
      return (
        other.owner !== audio?.owner &&
        other.sha256 === audio?.sha256 &&
        other.saved_at_ms < audio.saved_at_ms
      );
    }),
  );
}

async function judgeTakenNames(
  deps: Pick<RequestDeps, "ledger" | "folder">,
  files: readonly NarrationFile[],
  { fileLayout }: StoredPlan,
): Promise<NarrationView["takenNames"]> {
  let isForeign = false;
  for (const { audio, conflictingName: name } of files) {
    if (name === null) continue;
    const isFree = (await probeNameAvailability(deps.folder, name)) === "free";
    if (!isFree && (await findReplaceable(deps, audio, name)) !== null) return "replaceable";
    if (isFree && (fileLayout === "rows" || (await isFreeInOtherFormats(deps.folder, name))))
      return "replaceable";
    isForeign ||= !isFree;
  }
  return isForeign ? "foreign" : null;
}

/** Tells the files that are there from those that are not, and companions that are unchanged from others. */
async function checkFiles(
  deps: Pick<RequestDeps, "ledger" | "folder">,
  all: readonly NarrationFile[],
): Promise<Pick<NarrationView, "files" | "missingPaths" | "changedPaths">> {
  const present = await keepPresent(
    deps,
    all.map(({ audio }) => audio),
  );
  const files = all.filter(({ audio }) => present.has(audio));
  const changed = new Set<FileRow>();
  for (const { beside } of files)
    for (const row of beside) if (!(await isFileIntact(row, deps.folder.root))) changed.add(row);
  return {
    files: files.map((file) => ({ ...file, beside: file.beside.filter((row) => !changed.has(row)) })),
    missingPaths: all.flatMap(({ audio }) => (present.has(audio) ? [] : [audio.path])),
    changedPaths: [...changed].map(({ path }) => path),
  };
}
