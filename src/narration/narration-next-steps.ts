/** Says what to do about a narration, for an assistant and for a person at a shell. */
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { parseErrorCode, type Reader, type Wording } from "../errors.ts";
import { REMEDIES } from "../remedies.ts";
import type { ListedNarration } from "./listed-narrations.ts";
import { isJoinedLater, type NarrationView } from "./narration-view.ts";
import { coversLikelyCost, paysForNoPart } from "./plan-messages.ts";

/** The next step of what a list shows as saved. */
export const NOTHING_TO_DO = "None; it is saved.";

/**
 * Returns the limit to propose. After a limit that does not suffice, it is the least that is likely to, because the user
 * watches each credit.
 */
export const proposeLimit = ({ refusedLimit, problems, credits }: NarrationView): number =>
  refusedLimit !== undefined || problems[0]?.code === "max_credits_reached"
    ? credits.leastMax
    : credits.suggestedMax;

/** Returns the next step after a call, with its arguments; nothing for a reader who has nothing to do. */
export function describeNarrationNextStep(view: NarrationView): Exclude<Wording, string> {
  const { status, credits, parts, files, missingPaths } = view;
  const call = `call narrate with narration_id ${view.narrationId}`;
  const option = `--max-credits ${Math.max(1, proposeLimit(view))}`;
  switch (status) {
    case "planned":
      return describePlannedStep(view, call, option);
    case "running":
      return {
        assistant: `${capitalize(call)}${view.nextWaitSeconds === undefined ? "" : ` and wait_seconds ${view.nextWaitSeconds}`}: it waits, and says how it stands.${view.canChooseSooner ? ` For a chapter sooner: narrate with narration_id ${view.narrationId}, chapters and max_credits; its parts take turns with the others.` : ""}`,
        terminal: "Another process makes it.",
      };
    case "stopped":
      return describeStoppedStep(view, call, option);
    case "finished":
      if (missingPaths.length > 0)
        return {
          assistant: `Tell the user. If it is wanted here: ${call} and max_credits ${Math.max(1, credits.charged)}: it costs nothing.`,
          terminal: `With ${option} it is joined here again, free.`,
        };
      return {
        assistant: view.isSheet
          ? `Tell the user the folder${view.keptPaths.length > 0 && view.keptPaths.length < files.length ? ", and which files are new." : " and how many files there are."}`
          : `Tell the user the path${files.length === 1 ? "" : "s"}.${describeLateStep(view, call)}${parts.failed === 0 ? "" : describeSkippedStep(view)}`,
        terminal: "",
      };
  }
}

const capitalize = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}`;

const describeRepeats = ({ argumentsToRepeat = [] }: NarrationView): string =>
  argumentsToRepeat.length === 0 ? "" : `, with ${argumentsToRepeat.join(" and ")}`;

function describePlannedStep(view: NarrationView, call: string, option: string): Exclude<Wording, string> {
  const { credits, refusedLimit, isReopened = false } = view;
  const { charged, estimate, leastMax, suggestedMax } = credits;
  if (view.isStop === true)
    return {
      assistant: "Tell the user. A running narration is stopped by its own narration_id and stop true.",
      terminal: "",
    };
  if (refusedLimit !== undefined) {
    const whole = `Tell the user. For all of it: ${call} and max_credits ${leastMax}${describeRepeats(view)}.`;
    return {
      assistant:
        paysForNoPart(refusedLimit, view) || isReopened
          ? whole
          : `${whole} If they keep to ${refusedLimit}: that call with max_credits ${refusedLimit} makes what it pays for, and joins it. If they have named no limit, ask for one.`,
      terminal: isReopened
        ? `To make it: ${option}.`
        : `For all of it: ${option}. With ${refusedLimit} all the same: run the same command again; it makes what that pays for, and joins it.`,
    };
  }
  const how = view.isLimited === true ? " all the same, run the same command again" : `, add ${option}`;
  const steps = view.remarks.flatMap(({ step }) => step ?? []);
  const mend = (reader: Reader): string => steps.map((step) => `${step[reader]} `).join("");
  const toCome = `${Math.max(0, estimate - charged)} ${charged === 0 ? "" : "more "}credits`;
  const least = leastMax < suggestedMax ? ` (at least ${leastMax})` : "";
  return {
    assistant:
      view.parts.saved === view.parts.total
        ? `${capitalize(call)} and max_credits ${Math.max(1, charged)}: everything is paid for, so it costs nothing.`
        : `Tell the user length and price. ${mend("assistant")}When they agree: ${call} and max_credits ${suggestedMax}${describeRepeats(view)}, a ceiling${least}: about ${estimate} are charged${charged > 0 ? " in all" : ""}; each part holds ${RESERVED_CREDITS} until it ends.`,
    terminal: `${mend("terminal")}To make it${how}: about ${toCome} are charged; each part holds ${RESERVED_CREDITS} until it ends.`,
  };
}

/**
 * Returns the next step if cues begin late: a call with the retakes or edits that the problems suggest. Returns an
 * empty text if no cue is late.
 */
function describeLateStep({ problems, lateMax }: NarrationView, call: string): string {
  if (!problems.some(({ code }) => code === "late")) return "";
  return ` If the late cues matter: ${call} and max_credits ${lateMax}, with the retakes or edits that are named; those parts are paid for again.`;
}

/** Returns how parts that were left out are tried again. */
const describeSkippedStep = ({ parts, credits }: NarrationView): string =>
  ` With skip_failed false, max_credits ${credits.suggestedMax} tries ${parts.failed === 1 ? "it" : "them"} again.`;

/** Codes of failures of a part whose text would fail again: it was tried several times, or is refused. */
const REFUSED_TEXT_CODES: ReadonlySet<string> = new Set([
  "task_failed",
  "invalid_request",
  "request_too_large",
]);

/** Codes of problems of a part that is paid for, which only another take solves. */
const UNUSABLE_AUDIO_CODES: ReadonlySet<string> = new Set(["audio_unusable", "parts_differ"]);

function describeStoppedStep(view: NarrationView, call: string, option: string): Exclude<Wording, string> {
  const [first] = view.problems;
  const { max, charged, estimate } = view.credits;
  const proposed = proposeLimit(view);
  const price = estimate > charged ? `, for about ${estimate - charged} more credits` : "";
  const goesOn = `With ${option} it goes on where it stopped${price}, and pays for nothing twice.`;
  const withoutIt = `With --skip-failed ${option} it is joined without it, free.`;
  if (first === undefined && max !== null)
    return {
      assistant: `${capitalize(call)}: it goes on where it stopped, within the ${max} credits that were agreed, and pays for nothing twice.`,
      terminal: goesOn,
    };
  const isAgreed = first?.partIndex === null && max !== null && coversLikelyCost(max, view);
  const resume = `${call} and max_credits ${isAgreed ? max : proposed}: it goes on where it stopped, and pays for nothing twice`;
  if (first === undefined) return { assistant: `${capitalize(resume)}.`, terminal: goesOn };
  const retake = "retakes with a quote of it and its next take, such as 2";
  // Suggest a retake. Repeating the call would not help, because the audio itself is bad.
  if (UNUSABLE_AUDIO_CODES.has(first.code))
    return {
      assistant: `Ask the user whether to pay for that part again. If so: ${call}, max_credits ${proposed}, and ${retake}. With skip_failed true it is joined without that part, free.`,
      terminal: `Another take of that part is paid for again: --retake "2=QUOTE" ${option}. ${withoutIt}`,
    };
  if (first.partIndex !== null && REFUSED_TEXT_CODES.has(first.code))
    return {
      assistant: `Tell the user what is said of that part: the same text would most likely fail again. To go on: ${call}, max_credits ${proposed}, and edits of its words, or ${retake}. With skip_failed true it is joined without it, free.`,
      terminal: `The same text would most likely fail again: change the words of that part in the file, or make its next take with --retake "2=QUOTE" ${option}. ${withoutIt}`,
    };
  if (first.partIndex !== null)
    return {
      assistant: `${capitalize(resume)}; it tries only what is missing. With skip_failed true it is joined without those parts.`,
      terminal: goesOn,
    };
  if (first.code === "stopped")
    return {
      assistant: `Tell the user that it is stopped.${isJoinedLater(view) ? " A call with the narration_id alone says when the file is there." : ""} If they want to go on: ${resume}.`,
      terminal: goesOn,
    };
  if (first.code === "max_credits_reached" || first.code === "cancelled")
    return { assistant: `Ask the user whether to go on. If so: ${resume}.`, terminal: goesOn };
  return {
    assistant: `Tell the user what prevents it. When it is fixed: ${resume}.`,
    terminal: `${REMEDIES[parseErrorCode(first.code)].terminal} ${goesOn}`,
  };
}

/** Returns the next step of a narration in a list, which does not read its plan. */
export function describeListedNarrationNextStep(listed: ListedNarration): Wording {
  const { narration, status, missingPaths, replacedBy, bill } = listed;
  const call = `narrate with narration_id ${narration.id}`;
  switch (status) {
    case "planned":
      return {
        assistant: `Nothing was sent. ${call} says its price.`,
        terminal: "Nothing was sent. narrate FILE names its price.",
      };
    case "running":
      return { assistant: `${call} waits for it.`, terminal: "A process makes it." };
    case "stopped":
      return {
        assistant:
          narration.status === "running"
            ? `The process that ran it has ended; ${call} goes on, within the limit that was agreed.`
            : `${call} says why, and how to go on.`,
        terminal: "narrate FILE says why; with --max-credits it goes on, and pays for nothing twice.",
      };
    case "finished":
      if (missingPaths.length === 0 && replacedBy.length === 0) return NOTHING_TO_DO;
      return {
        assistant: `${call} and max_credits ${Math.max(1, Math.round(bill.charged))} joins it again, free.`,
        terminal: "narrate FILE with --max-credits joins it here again, free.",
      };
  }
}
