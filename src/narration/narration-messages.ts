/** Writes the sentences of a narration's result: its status, its cost, and the next call. */
import { basename, dirname } from "node:path";
import { MINIMUM_CHARGE_CREDITS, MINIMUM_CHARGE_SECONDS, RESERVED_CREDITS } from "../contract/billing.ts";
import { LIMIT_WINDOW_SECONDS, SUBMISSIONS_PER_WINDOW } from "../contract/service-limits.ts";
import type { Reader } from "../errors.ts";
import type { NarrationProgress } from "../ledger/narration-rows.ts";
import type { Standstill } from "../requests/activity.ts";
import { estimateSecondsLeft, type NarrationTotals, type NarrationView } from "./narration-view.ts";
import { DEFAULT_RETAKE_TAKE } from "./parts.ts";
import { shortenExcerpt } from "./text/excerpt.ts";
import { formatNumberSpans } from "./text/number-spans.ts";

const formatCount = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`;

/** Lists the first of several names, and says how many more there are. */
const listFirst = (names: readonly string[], max: number): string =>
  `${names.slice(0, max).join(", ")}${names.length > max ? ` and ${names.length - max} more` : ""}`;

/** Formats a duration: "52 min", "40 s", "3 h 20 min". */
export function formatDuration(seconds: number): string {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Sums the lengths of files. */
export const sumSeconds = (files: NarrationView["files"]): number =>
  files.reduce((sum, { audio }) => sum + (audio.seconds ?? 0), 0);

/** Describes the progress of a running narration in one line. */
export function describeProgress(
  { narration, pace, savedPartCount, totalPartCount, bill }: NarrationProgress,
  nowMs: number,
  standstill: Standstill | null,
): string {
  const missingCount = totalPartCount - savedPartCount;
  const secondsLeft = estimateSecondsLeft(narration.started_at_ms, pace, missingCount, nowMs);
  const isForeseeable = missingCount > 0 && standstill?.isLimit !== false;
  const time = isForeseeable ? `; about ${formatDuration(secondsLeft)} left` : "";
  const soFar = `Part ${savedPartCount} of ${totalPartCount} saved; ${Math.round(bill.charged)} credits`;
  return standstill === null ? `${soFar}${time}` : `${soFar}${time}. ${standstill.sentence}`;
}

/**
 * Returns the final answer for a cancelled MCP task.
 *
 * @param isLeftRunning whether another call wants the narration, so that it went on
 */
export function describeCancelled(
  { parts, credits }: Pick<NarrationTotals, "parts" | "credits">,
  isLeftRunning: boolean,
): string {
  const soFar = `By then ${parts.saved} of ${formatCount(parts.total, "part")} ${parts.saved === 1 ? "was" : "were"} saved and ${credits.charged} credits charged`;
  const fate = isLeftRunning
    ? ". Another call had asked for the same narration, so it went on for that one, within its max_credits"
    : "; requests already sent are completed, charged as usual and saved";
  return `Cancelled: nothing more is created for this task. ${soFar}${fate}. The same call begins a new task, which goes on from what is saved and pays for nothing twice.`;
}

const joinSentences = (sentences: readonly string[]): string =>
  sentences.filter((sentence) => sentence !== "").join(" ");

/** Maximum number of problems, paths or names that a sentence lists. */
const MAX_LISTED = 5;
const FILES_SHOWN = 3;

function describeProblems({ problems, parts }: NarrationView, reader: Reader): string[] {
  const shown = problems.slice(0, MAX_LISTED).map(({ partIndex, excerpt, message, terminal }) => {
    const words = reader === "terminal" ? (terminal ?? message) : message;
    return partIndex === null ? words : `Part ${partIndex + 1} (${JSON.stringify(excerpt)}): ${words}`;
  });
  const others = problems.slice(MAX_LISTED).flatMap(({ partIndex }) => partIndex ?? []);
  if (others.length === 0) return shown;
  const positions = [...new Set(others)].sort((one, other) => one - other);
  return [...shown, `There are problems with ${listPartNumbers(positions, parts.total)}, too.`];
}

/**
 * States the folder of a sheet's files and the names of the first files. Does not name all files, because there may be
 * a thousand.
 */
function describeSheetFiles({ files }: Pick<NarrationView, "files">): string {
  const [first] = files;
  if (first === undefined) return "";
  const names = files.map(({ audio }) => basename(audio.path));
  return `Saved ${formatCount(files.length, "file")} in ${dirname(first.audio.path)}: ${listFirst(names, FILES_SHOWN)} (${formatDuration(sumSeconds(files))} in all).`;
}

function describeFiles({ isSheet, files, parts, outdatedPaths }: NarrationView): string {
  if (isSheet) return describeSheetFiles({ files });
  const paths = files.map(({ audio, beside, isIncomplete, missingPartIndexes }) => {
    const isOutdated = outdatedPaths.includes(audio.path);
    const kind = isIncomplete ? ", incomplete" : isOutdated ? ", from before the change" : "";
    const withoutParts =
      missingPartIndexes.length === 0 ? "" : `, without ${listPartNumbers(missingPartIndexes, parts.total)}`;
    const companions = beside.map((row) => `, ${row.kind === "srt" ? "" : `${row.kind} `}${row.path}`);
    return `${audio.path} (${formatDuration(audio.seconds ?? 0)}${kind}${withoutParts})${companions.join("")}`;
  });
  return paths.length === 0 ? "" : `Saved ${paths.join("; ")}.`;
}

/** Describes the files without their paths, because the structured content has a field for the paths. */
export function describeFilesBriefly({ isSheet, files, parts, outdatedPaths }: NarrationView): string {
  if (isSheet) return describeSheetFiles({ files });
  if (files.length === 0) return "";
  const lacking = files.flatMap(({ audio, isIncomplete, missingPartIndexes }, index) =>
    missingPartIndexes.length === 0
      ? outdatedPaths.includes(audio.path)
        ? [`file ${index + 1} from before the change`]
        : []
      : [
          `file ${index + 1}${isIncomplete ? " (incomplete)" : ""} without ${listPartNumbers(missingPartIndexes, parts.total)}`,
        ],
  );
  return `${["Saved", ...lacking].join(", ")}.`;
}

/**
 * Reports the parts that no file contains yet. If an incomplete file lacks a part, the part is reported with that file
 * instead.
 */
function describeUnjoinedParts({ status, files, parts, unjoinedParts }: NarrationView): string {
  const lacked = new Set(files.flatMap(({ missingPartIndexes }) => missingPartIndexes));
  const otherParts = unjoinedParts.filter((part) => !lacked.has(part));
  if (status === "planned" || status === "running" || otherParts.length === 0) return "";
  return `Not in any file: ${listPartNumbers(otherParts, parts.total)}.`;
}

/** Reports saved files that are no longer at their paths. A file may have been moved, or may be on another machine. */
function describeMissingFiles({ missingPaths }: NarrationView): string {
  if (missingPaths.length === 0) return "";
  const pronoun = missingPaths.length === 1 ? "It" : "They";
  return `Not there any more as it was saved: ${listFirst(missingPaths, MAX_LISTED)}. ${pronoun} can be joined again from the saved parts, free.`;
}

/** Reports files that got a number because their name was taken. */
function describeNumberedNames({ files, mayReplace }: NarrationView, reader: Reader): string {
  const taken = files.flatMap(({ conflictingName }) =>
    conflictingName === null ? [] : [JSON.stringify(conflictingName)],
  );
  if (taken.length === 0) return "";
  const names = listFirst(taken, MAX_LISTED);
  const was =
    taken.length === 1
      ? `A file named ${names} was there already, so a number was added.`
      : `Files named ${names} were there already, so numbers were added.`;
  return mayReplace
    ? `${was} This server did not save that file, or it has changed since.`
    : `${was} With ${reader === "terminal" ? "--replace" : "replace true"} it takes the name of a file that this server saved and that is unchanged.`;
}

/** Reports captions and chapter files that were edited, moved or replaced. */
function describeChangedCompanions({ changedPaths }: NarrationView): string {
  if (changedPaths.length === 0) return "";
  const [was, it] = changedPaths.length === 1 ? ["was", "it"] : ["were", "them"];
  return `${changedPaths.join(", ")} ${was} changed or removed since the narration saved ${it}.`;
}

/** Announces what running tasks will still cost, and what stays reserved. Both hold even if the narration ends. */
function describeComingCosts({ parts, credits }: NarrationView, reader: Reader): string {
  const { reserved, pendingCharge } = credits;
  const isRunning = pendingCharge > 0 && parts.running > 0;
  const are = parts.running === 1 ? "part that is" : "parts that are";
  const others = reserved - (isRunning ? parts.running * RESERVED_CREDITS : 0);
  return joinSentences([
    isRunning
      ? `${parts.running} ${are} already with the service will still be charged, about ${pendingCharge} credits, and saved.`
      : "",
    others > 0
      ? `${others} credits stay reserved for what has no answer yet, or is not needed any more; going on with ${reader === "terminal" ? "--max-credits" : "max_credits"} finds out what was made of it, and pays for nothing twice.`
      : "",
  ]);
}

/** Returns a sentence for a narration that was just stopped: its file will be joined after the call has returned. */
function announceJoinedFile(
  { isSheet, problems, files, parts, incompletePath }: NarrationView,
  reader: Reader,
): string {
  const where =
    incompletePath === null
      ? "to files with (incomplete) in their names"
      : `as ${incompletePath}, or with a number if that name is taken`;
  const isToJoin = problems[0]?.code === "stopped" && files.length === 0 && !isSheet;
  const again = reader === "terminal" ? "the same command" : "a call with the narration_id alone";
  return isToJoin && parts.saved + parts.running > 0
    ? `What is saved is then joined ${where}; ${again} says when it is there.`
    : "";
}

/** Names parts by their numbers, counted from 1: "part 3 of 9", "parts 1 to 3 and 7 of 9". */
function listPartNumbers(indexes: readonly number[], total: number): string {
  const list = formatNumberSpans(indexes.map((index) => index + 1));
  return `${indexes.length === 1 ? "part" : "parts"} ${list} of ${total}`;
}

function describePlan({ parts, credits, seconds, retakenPartCount }: NarrationView, reader: Reader): string {
  const takes =
    retakenPartCount === 0
      ? ""
      : ` ${formatCount(retakenPartCount, "part")} in another take or at another speed.`;
  const missing = parts.total - parts.saved;
  if (credits.charged > 0) {
    const toCome = credits.estimate - credits.charged;
    return `A plan: ${formatCount(missing, "part")} to be made for about ${toCome} credits, beside the ${credits.charged} charged for it so far; ${reader === "terminal" ? "--max-credits" : "max_credits"} counts both.${takes} Nothing was sent or charged.`;
  }
  const plan = `A plan of ${formatCount(parts.total, "part")}`;
  const audio = `about ${formatDuration(seconds.estimate)} of audio`;
  if (missing === 0) return `${plan}, ${audio}, all of it paid for already. Nothing was sent or charged.`;
  const paid =
    parts.alreadyPaid === 0
      ? ""
      : ` ${formatCount(parts.alreadyPaid, "part")} of them ${parts.alreadyPaid === 1 ? "is" : "are"} paid for already.`;
  return `${plan}: ${audio} for about ${credits.estimate} credits.${paid}${takes}${describeMinimumTime(missing)} Nothing was sent or charged.`;
}

/** One or two short parts cost too little for a sentence. */
const MIN_REPORTED_SHORT_PARTS = 3;

/** Reports short parts, such as turns of a dialogue, because each costs the minimum charge. */
const describeShortParts = ({ shortPartCount }: NarrationView): string =>
  shortPartCount < MIN_REPORTED_SHORT_PARTS
    ? ""
    : `${shortPartCount} parts are shorter than ${MINIMUM_CHARGE_SECONDS} s and cost ${MINIMUM_CHARGE_CREDITS} credits, the least that is charged, each.`;

/**
 * States the minimum time that the service's rate limit imposes. Returns an empty text for less than
 * `LONG_WORK_SECONDS`.
 */
function describeMinimumTime(missing: number): string {
  const seconds = missing * (LIMIT_WINDOW_SECONDS / SUBMISSIONS_PER_WINDOW);
  if (seconds < LONG_WORK_SECONDS) return "";
  return ` Making it takes ${formatDuration(seconds)} or more, because the service takes ${SUBMISSIONS_PER_WINDOW} tasks a minute.`;
}

const LONG_WORK_SECONDS = 120;

/** Formats the range of some values: "40 to 90 s", "2 to 9 min", "12 credits". */
function formatRange(values: readonly number[], unit: string): string {
  const min = Math.round(Math.min(...values));
  const max = Math.round(Math.max(...values));
  return min === max ? `${min} ${unit}` : `${min} to ${max} ${unit}`;
}

const SHORT_CHAPTER_SECONDS = 120;

/** Summarizes all chapters of a plan, because a list of many chapters shows only the first ones. */
function summarizeChapters({ chapters: chaptersAndFront }: NarrationView): string {
  const chapters = chaptersAndFront.filter(({ title }) => title !== null);
  const [first, last] = [chapters[0]?.title, chapters.at(-1)?.title];
  if (chapters.length < 2 || !first || !last) return "";
  const seconds = chapters.map((chapter) => chapter.seconds);
  const length = seconds.every((one) => one < SHORT_CHAPTER_SECONDS)
    ? formatRange(seconds, "s")
    : formatRange(
        seconds.map((one) => one / 60),
        "min",
      );
  const prices = chapters.map(({ credits }) => credits);
  const price = Math.max(...prices) === 0 ? "" : ` and ${formatRange(prices, "credits")}`;
  return `${chapters.length} chapters, from ${JSON.stringify(shortenExcerpt(first))} to ${JSON.stringify(shortenExcerpt(last))}, each of ${length}${price}.`;
}

const MAX_CHAPTERS_SHOWN = 30;

/** Lists the chapters of a plan with number, length and price. */
export function formatChapterList({ chapters }: NarrationView, reader: Reader = "assistant"): string {
  if (chapters.length === 0) return "";
  const rows = chapters.slice(0, MAX_CHAPTERS_SHOWN).map(({ number, title, seconds, credits }) => {
    const name = title === null ? "(before the first heading)" : JSON.stringify(shortenExcerpt(title));
    return `${number === null ? "" : `${number} `}${name} ${formatDuration(seconds)} ${Math.round(credits)}`;
  });
  const furtherCount = chapters.length - rows.length;
  const [first = 1, second] = chapters.flatMap(({ number }) => number ?? []);
  const example = chapters.length > 2 && second === first + 1 ? `${first}-${second}` : `${first}`;
  const argument = reader === "terminal" ? "option --chapters" : "argument chapters";
  const hint = second === undefined ? "" : ` The ${argument} narrates some of them: "${example}".`;
  return `Chapters with length and credits: ${rows.join("; ")}${furtherCount > 0 ? `; and ${furtherCount} more` : ""}.${hint}`;
}

const RESERVATION_RULE = `each part holds ${RESERVED_CREDITS} credits until it ends`;

/** Explains the effect of a credit limit below the suggested limit: the narration may end early. */
function describeLowLimit(limit: number, view: NarrationView): string {
  const { estimate, leastMax, suggestedMax } = view.credits;
  let effect = "is likely to end it early";
  if (paysForNoPart(limit, view)) effect = "pays for no part";
  else if (coversLikelyCost(limit, view)) effect = "ends it early if a part comes out longer";
  const margin = suggestedMax > leastMax ? ` ${suggestedMax} leaves room for longer parts.` : "";
  return `max_credits ${limit} ${effect}, because about ${estimate} credits are likely to be charged, and ${RESERVATION_RULE}: that needs ${leastMax}.${margin}`;
}

const paysForNoPart = (limit: number, { credits }: NarrationView): boolean =>
  limit < credits.charged + RESERVED_CREDITS;

const coversLikelyCost = (limit: number, { credits }: NarrationView): boolean => limit >= credits.leastMax;

function describeSoFar({ parts, credits, outdatedPaths }: NarrationView): string {
  const progress =
    outdatedPaths.length > 0
      ? `${formatCount(parts.total - parts.saved, "changed part")} still to be made`
      : `${parts.saved} of ${formatCount(parts.total, "part")} saved`;
  return `${progress}, ${credits.charged} credits charged${credits.reserved > 0 ? `, ${credits.reserved} reserved` : ""}.`;
}

/**
 * Describes the status and its reason, without the next step.
 *
 * @param saved the sentence about saved files. For the structured content, the sentence contains no paths, because the
 *   structured content has a field for the paths
 */
export function describeNarration(
  view: NarrationView,
  saved = describeFiles(view),
  reader: Reader = "assistant",
): string {
  const { status, remarks, unspoken } = view;
  const isPlan = status === "planned";
  return joinSentences([
    view.note ?? "",
    describeStatus(view, saved, reader),
    status === "finished" || view.files.length === 0 ? "" : saved,
    describeUnjoinedParts(view),
    describeNumberedNames(view, reader),
    describeMissingFiles(view),
    describeChangedCompanions(view),
    ...describeProblems(view, reader),
    ...(isPlan
      ? [summarizeChapters(view), ...remarks.map(({ sentence }) => sentence), describeShortParts(view)]
      : []),
    ...(status === "running" ? [] : unspoken),
  ]);
}

function describeStatus(view: NarrationView, saved: string, reader: Reader): string {
  switch (view.status) {
    case "planned":
      return view.refusedLimit === undefined
        ? describePlan(view, reader)
        : `${describePlan(view, reader)} ${describeLowLimit(view.refusedLimit, view)}`;
    case "running": {
      const left = view.seconds.left === null ? "" : ` About ${formatDuration(view.seconds.left)} left.`;
      const timeLeft = view.standstill === undefined ? left : `${left} ${view.standstill}`;
      const { max } = view.credits;
      const early =
        max === null || coversLikelyCost(max, view)
          ? ""
          : ` It is likely to stop early, because ${RESERVATION_RULE}.`;
      return `Running: ${describeSoFar(view)}${timeLeft} It goes on by itself, up to ${max} credits in all, as long as this ${reader === "terminal" ? "program" : "server"} runs.${early}`;
    }
    case "stopped": {
      const ended = view.problems.length === 0 ? "The process that ran it has ended." : "";
      const soFar = `Stopped: ${describeSoFar(view)}`;
      return joinSentences([
        soFar,
        ended,
        describeComingCosts(view, reader),
        announceJoinedFile(view, reader),
      ]);
    }
    case "finished":
      return joinSentences([saved, describeCost(view)]);
  }
}

function describeCost({
  isRepeat,
  hasQuoteOnlyRetake,
  chargedByCall,
  credits,
  parts,
}: NarrationView): string {
  if (isRepeat) {
    const retake = hasQuoteOnlyRetake
      ? ` A retake without take is take ${DEFAULT_RETAKE_TAKE}, which is in the file already; take ${DEFAULT_RETAKE_TAKE + 1} makes another one.`
      : "";
    return `Cost ${credits.charged} credits in all (nothing for this call).${retake}`;
  }
  const paid =
    parts.alreadyPaid > 0 ? `; ${formatCount(parts.alreadyPaid, "part")} had been paid for before` : "";
  const chargedByCallClause = chargedByCall === undefined ? "" : `, ${chargedByCall} of them for this call`;
  return `Cost ${credits.charged} credits in all${chargedByCallClause}${paid}.`;
}

/** Names the next call to make, with its arguments. */
export function describeNarrationNextStep(view: NarrationView): string {
  const call = `call narrate with narration_id ${view.narrationId}`;
  const sentence = describeNextStep(view, call);
  return capitalize(sentence);
}

const capitalize = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}`;

const describeRepeats = ({ argumentsToRepeat = [] }: NarrationView): string =>
  argumentsToRepeat.length === 0 ? "" : `, with ${argumentsToRepeat.join(" and ")}`;

function describeNextStep(view: NarrationView, call: string): string {
  switch (view.status) {
    case "planned":
      if (view.isStop === true)
        return "Tell the user. A running narration is stopped by its own narration_id and stop true.";
      if (view.parts.saved === view.parts.total) {
        return `${call} and max_credits ${Math.max(1, view.credits.charged)}: everything is paid for, so it costs nothing.`;
      }
      if (view.refusedLimit !== undefined) {
        return describeLowLimitStep(view.refusedLimit, view, call);
      }
      return `Tell the user length and price. When they agree: ${call} and max_credits ${view.credits.suggestedMax}${describeRepeats(view)}, a ceiling: about ${view.credits.estimate} are charged${view.credits.charged > 0 ? " in all" : ""}, the rest is only held meanwhile.`;
    case "running":
      return `${call}${view.nextWaitSeconds === undefined ? "" : ` and wait_seconds ${view.nextWaitSeconds}`}: it waits, and says how it stands.`;
    case "stopped":
      return describeStoppedStep(view, call);
    case "finished":
      if (view.missingPaths.length > 0) {
        return `Tell the user. If it is wanted here: ${call} and max_credits ${Math.max(1, view.credits.charged)}: it costs nothing.`;
      }
      if (view.isSheet) return "Tell the user the folder and how many files there are.";
      return `${view.files.length === 1 ? "Tell the user the path." : "Tell the user the paths."}${describeLateStep(view, call)}${describeSkippedStep(view)}`;
  }
}

/** Returns the next step after a limit that is below the suggested one. The user may have named the limit, or not. */
function describeLowLimitStep(limit: number, view: NarrationView, call: string): string {
  const { suggestedMax } = view.credits;
  const repeats = describeRepeats(view);
  if (coversLikelyCost(limit, view))
    return `If the user has named ${limit} as the limit: ${call} and max_credits ${limit}${repeats}. If they have named none: tell them the price, and take max_credits ${suggestedMax}.`;
  const whole = `Tell the user. For all of it: ${call} and max_credits ${suggestedMax}${repeats}.`;
  return paysForNoPart(limit, view)
    ? whole
    : `${whole} If they keep to ${limit}: the same call with max_credits ${limit} makes what that pays, and joins it. If they have named no limit, ask for one.`;
}

/**
 * Returns the next step if cues begin late: a call with the retakes or edits that the problems suggest. Returns an
 * empty text if no cue is late.
 */
function describeLateStep({ problems, credits }: NarrationView, call: string): string {
  const lateProblems = problems.filter(({ code }) => code === "late");
  if (lateProblems.length === 0) return "";
  const max = credits.charged + RESERVED_CREDITS * lateProblems.length;
  return ` If the late cues matter: ${call} and max_credits ${max}, with the retakes or edits that are named; those parts are paid for again.`;
}

/** Returns how parts that were left out are tried again; an empty text if there are none. */
const describeSkippedStep = ({ parts, credits }: NarrationView): string =>
  parts.failed === 0
    ? ""
    : ` With skip_failed false, max_credits ${credits.suggestedMax} tries ${parts.failed === 1 ? "it" : "them"} again.`;

/** Codes of failures of a part whose text would fail again: it was tried several times, or is refused. */
export const REFUSED_TEXT_CODES: ReadonlySet<string> = new Set([
  "task_failed",
  "invalid_request",
  "request_too_large",
]);

/** Codes of problems of a part that is paid for, which only another take solves. */
export const UNUSABLE_AUDIO_CODES: ReadonlySet<string> = new Set(["audio_unusable", "parts_differ"]);

function describeStoppedStep(view: NarrationView, call: string): string {
  const [first] = view.problems;
  const { max, suggestedMax } = view.credits;
  const isAgreed = first?.partIndex === null && max !== null && coversLikelyCost(max, view);
  const resumeAdvice = `${call} and max_credits ${isAgreed ? max : suggestedMax}: it goes on where it stopped, and pays for nothing twice.`;
  if (first === undefined) {
    if (max === null) return resumeAdvice;
    return `${call}: it goes on where it stopped, within the ${max} credits that were agreed, and pays for nothing twice.`;
  }
  // Suggest a retake. Repeating the call would not help, because the audio itself is bad.
  if (UNUSABLE_AUDIO_CODES.has(first.code)) {
    return `Ask the user whether to pay for that part again. If so: ${call}, max_credits ${view.credits.suggestedMax}, and retakes with a quote of it and its next take, such as 2. With skip_failed true it is joined without that part, free.`;
  }
  if (first.partIndex !== null && REFUSED_TEXT_CODES.has(first.code)) {
    return `Tell the user what is said of that part: the same text would most likely fail again. To go on: ${call}, max_credits ${suggestedMax}, and edits of its words, or retakes with a quote of it and its next take, such as 2. With skip_failed true it is joined without it, free.`;
  }
  if (first.partIndex !== null) {
    return `${resumeAdvice.slice(0, -1)}; it tries only what is missing. With skip_failed true it is joined without those parts.`;
  }
  if (first.code === "stopped")
    return `Tell the user that it is stopped. If they want to go on: ${resumeAdvice}`;
  if (first.code === "max_credits_reached" || first.code === "cancelled") {
    return `Ask the user whether to go on. If so: ${resumeAdvice}`;
  }
  return `Tell the user what prevents it. When it is fixed: ${resumeAdvice}`;
}
