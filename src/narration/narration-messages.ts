/** Writes the sentences of a narration's result: its status, its files and its cost. */
import { basename, dirname } from "node:path";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import type { Reader } from "../errors.ts";
import type { NarrationProgress } from "../ledger/narration-rows.ts";
import type { FileRow } from "../ledger/schema.ts";
import type { Standstill } from "../requests/activity.ts";
import { isJoinedLater, type NarrationTotals, type NarrationView } from "./narration-view.ts";
import { DEFAULT_RETAKE_TAKE } from "./parts.ts";
import {
  coversLikelyCost,
  describeLowLimit,
  describePlan,
  describePlannedFiles,
  describeShortParts,
  RESERVATION_RULE,
  summarizeChapters,
} from "./plan-messages.ts";
import { formatCount, formatDuration } from "./quantity-words.ts";
import { formatNumberSpans } from "./text/number-spans.ts";
import { estimateSecondsLeft } from "./time-left.ts";

/** Lists the first of several names, and says how many more there are. */
const listFirst = (names: readonly string[], max: number): string =>
  `${names.slice(0, max).join(", ")}${names.length > max ? ` and ${names.length - max} more` : ""}`;

/** Sums the lengths of files. */
export const sumSeconds = (files: NarrationView["files"]): number =>
  files.reduce((sum, { audio }) => sum + (audio.seconds ?? 0), 0);

/** Describes the progress of a running narration in one line. */
export function describeProgress(
  { pace, savedPartCount, totalPartCount, missingCount, bill }: NarrationProgress,
  nowMs: number,
  standstill: Standstill | null,
): string {
  const secondsLeft = estimateSecondsLeft(pace, missingCount, nowMs, standstill);
  const time = missingCount > 0 && secondsLeft !== null ? `; about ${formatDuration(secondsLeft)} left` : "";
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

/** Whether a person has stopped the narration, which its status says and no problem has to. */
const isStoppedAsAsked = ({ problems }: Pick<NarrationView, "problems">): boolean =>
  problems[0]?.code === "stopped";

function describeProblems(view: NarrationView, reader: Reader): string[] {
  const { parts } = view;
  const problems = view.problems.slice(isStoppedAsAsked(view) ? 1 : 0);
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
function describeSheetFiles({ files, keptPaths, takenNames }: NarrationView): string {
  const [first] = files;
  if (first === undefined) return "";
  const kept = new Set(keptPaths);
  const newFiles = files.filter(({ audio }) => !kept.has(audio.path));
  const isPartlyNew = kept.size > 0 && newFiles.length > 0;
  const shown = isPartlyNew ? newFiles : files;
  const names = listFirst(
    shown.map(({ audio }) => basename(audio.path)),
    FILES_SHOWN,
  );
  const where = `in ${dirname(first.audio.path)}: ${names}`;
  const length = `(${formatDuration(sumSeconds(files))} in all)`;
  if (!isPartlyNew) return `Saved ${formatCount(files.length, "file")} ${where} ${length}.`;
  const [numbered, ...others] = files.flatMap(({ conflictingName }) => conflictingName ?? []);
  const isEarlierThere = numbered !== undefined && others.length === 0 && takenNames === "replaceable";
  const earlier = isEarlierThere && newFiles.length === 1 ? ` (${numbered} has the earlier recording)` : "";
  return `Saved ${formatCount(newFiles.length, "new file")} ${where}${earlier}; ${formatCount(kept.size, "file")} as before ${length}.`;
}

/** Names what a companion holds. Chapters are also inside the audio, if its format has a place for them. */
function describeKind({ kind }: FileRow, audio: FileRow): string {
  if (kind === "srt") return "";
  return kind === "chapters" && /\.(?:mp3|ogg)$/.test(audio.path) ? "chapters inside and in " : `${kind} `;
}

function describeFiles(view: NarrationView): string {
  const { isSheet, files, parts, outdatedPaths } = view;
  if (isSheet) return describeSheetFiles(view);
  const paths = files.map(({ audio, beside, isIncomplete, missingPartIndexes }) => {
    const isOutdated = outdatedPaths.includes(audio.path);
    const kind = isIncomplete
      ? ", incomplete until the whole file replaces it"
      : isOutdated
        ? ", from before the change"
        : "";
    const withoutParts =
      missingPartIndexes.length === 0 ? "" : `, without ${listPartNumbers(missingPartIndexes, parts.total)}`;
    const companions = beside.map((row) => `, ${describeKind(row, audio)}${row.path}`);
    return `${audio.path} (${formatDuration(audio.seconds ?? 0)}${kind}${withoutParts})${companions.join("")}`;
  });
  return paths.length === 0 ? "" : `Saved ${paths.join("; ")}.`;
}

/** Describes the files without their paths, because the structured content has a field for the paths. */
export function describeFilesBriefly(view: NarrationView): string {
  const { isSheet, files, parts, outdatedPaths } = view;
  if (isSheet) return describeSheetFiles(view);
  if (files.length === 0) return "";
  const lacking = files.flatMap(({ audio, isIncomplete, missingPartIndexes }, index) =>
    missingPartIndexes.length === 0
      ? outdatedPaths.includes(audio.path)
        ? [`file ${index + 1} from before the change`]
        : []
      : [
          `file ${index + 1}${isIncomplete ? " (incomplete until the whole file replaces it)" : ""} without ${listPartNumbers(missingPartIndexes, parts.total)}`,
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
function describeNumberedNames({ narrationId, files, takenNames }: NarrationView, reader: Reader): string {
  const taken = files.flatMap(({ conflictingName }) =>
    conflictingName === null ? [] : [JSON.stringify(conflictingName)],
  );
  if (taken.length === 0) return "";
  const names = listFirst(taken, MAX_LISTED);
  const [was, it, that, gives] =
    taken.length === 1
      ? [
          `A file named ${names} was there already, so a number was added.`,
          "it",
          "that name",
          "the recording that has it now gives way, and can be had again, free",
        ]
      : [
          `Files named ${names} were there already, so numbers were added.`,
          "them",
          "those names",
          "the recordings that have them now give way, and can be had again, free",
        ];
  if (takenNames === null) return was;
  if (takenNames === "foreign")
    return `${was} This server did not save ${taken.length === 1 ? "that file, or it has" : "those files, or they have"} changed since.`;
  return reader === "terminal"
    ? `${was} The same command with --replace gives ${it} ${that} instead, free; ${gives}.`
    : `${was} To give ${it} ${that} instead (free): narrate with narration_id ${narrationId} and replace true; ${gives}.`;
}

/** Reports captions and chapters that players do not find, because another file has their name. */
function describeNumberedCompanions({ files }: NarrationView): string {
  const taken = files.flatMap(({ conflictingBeside }) =>
    conflictingBeside.map((name) => JSON.stringify(name)),
  );
  if (taken.length === 0) return "";
  return `${listFirst(taken, MAX_LISTED)} ${taken.length === 1 ? "is another file" : "are other files"}, so what lies beside the audio has a number.`;
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
function announceJoinedFile(view: NarrationView, reader: Reader): string {
  const { incompletePath } = view;
  const where =
    incompletePath === null
      ? "to files with (incomplete) in their names"
      : `as ${incompletePath}, or with a number if that name is taken`;
  // The player in the chat shows this sentence to a person, and looks by itself. An assistant reads its next step.
  const again = reader === "terminal" ? "; the same command says when it is there" : "";
  return isJoinedLater(view) ? `What is saved is then joined ${where}${again}.` : "";
}

/** Names parts by their numbers, counted from 1: "part 3 of 9", "parts 1 to 3 and 7 of 9". */
function listPartNumbers(indexes: readonly number[], total: number): string {
  const list = formatNumberSpans(indexes.map((index) => index + 1));
  return `${indexes.length === 1 ? "part" : "parts"} ${list} of ${total}`;
}

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
    describeNumberedCompanions(view),
    describeMissingFiles(view),
    describeChangedCompanions(view),
    ...describeProblems(view, reader),
    ...(isPlan
      ? [
          describePlannedFiles(view, reader),
          summarizeChapters(view),
          ...remarks.map(({ sentence, terminal }) =>
            reader === "terminal" ? (terminal ?? sentence) : sentence,
          ),
          describeShortParts(view),
        ]
      : []),
    ...(status === "running" ? [view.listening] : unspoken),
  ]);
}

/** Reports parts that another running narration has, too, so that nobody adds their prices. */
function describeShared({ sharedWith = [] }: NarrationView): string {
  if (sharedWith.length === 0) return "";
  const are = sharedWith.length === 1 ? "which is" : "which are";
  return ` Some of its parts are also those of ${listFirst(sharedWith, FILES_SHOWN)}, ${are} running; each is paid once.`;
}

function describeStatus(view: NarrationView, saved: string, reader: Reader): string {
  switch (view.status) {
    case "planned":
      return view.refusedLimit === undefined
        ? `${describePlan(view, reader)}${describeShared(view)}`
        : `${describePlan(view, reader)}${describeShared(view)} ${describeLowLimit(view.refusedLimit, view, reader)}`;
    case "running": {
      const left = view.seconds.left === null ? "" : ` About ${formatDuration(view.seconds.left)} left.`;
      const timeLeft = view.standstill === undefined ? left : `${left} ${view.standstill.sentence}`;
      const { max } = view.credits;
      const early =
        max === null || coversLikelyCost(max, view)
          ? ""
          : ` It is likely to stop early, because ${RESERVATION_RULE}.`;
      return `Running: ${describeSoFar(view)}${timeLeft} It goes on by itself, up to ${max} credits in all, as long as this ${reader === "terminal" ? "program runs" : "app stays open"}.${early}${describeShared(view)}`;
    }
    case "stopped": {
      const ended = view.problems.length === 0 ? "The process that ran it has ended." : "";
      const soFar = `${isStoppedAsAsked(view) ? "Stopped, as asked for" : "Stopped"}: ${describeSoFar(view)}`;
      return joinSentences([
        soFar,
        ended,
        describeComingCosts(view, reader),
        announceJoinedFile(view, reader),
      ]);
    }
    case "finished":
      return joinSentences([saved, describePunctuality(view), describeNarrationCost(view)]);
  }
}

/** Says that the parts of subtitles keep their times. What is late is a problem of its part. */
const describePunctuality = ({ isTimed, problems, files, parts }: NarrationView): string =>
  isTimed && files.length > 0 && parts.failed === 0 && problems.every(({ code }) => code !== "late")
    ? "Every cue begins on time, and the last one ends in time."
    : "";

/** States what a finished narration has cost. What it shares with others is on their bills. */
function describeNarrationCost({
  isRepeat,
  hasQuoteOnlyRetake,
  chargedByCall,
  credits,
  parts: { alreadyPaid },
}: NarrationView): string {
  const total = `Cost ${credits.charged} credits${alreadyPaid > 0 ? "" : " in all"}`;
  const shared =
    alreadyPaid > 0
      ? `; ${alreadyPaid} of its parts ${alreadyPaid === 1 ? "was" : "were"} paid for before`
      : "";
  if (isRepeat) {
    const retake = hasQuoteOnlyRetake
      ? ` A retake without take is take ${DEFAULT_RETAKE_TAKE}, which is in the file already; take ${DEFAULT_RETAKE_TAKE + 1} makes another one.`
      : "";
    return `${total} (nothing for this call)${shared}.${retake}`;
  }
  const chargedByCallClause = chargedByCall === undefined ? "" : `, ${chargedByCall} of them for this call`;
  return `${total}${chargedByCallClause}${shared}.`;
}
