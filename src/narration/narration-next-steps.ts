/** Names the next call after a narration's result, with its arguments. */
import type { NarrationView } from "./narration-view.ts";
import { coversLikelyCost, paysForNoPart } from "./plan-messages.ts";

/**
 * Returns the limit to propose. After a limit that does not suffice, it is the least that is likely to, because the user
 * watches each credit.
 */
export const proposeLimit = ({ refusedLimit, problems, credits }: NarrationView): number =>
  refusedLimit !== undefined || problems[0]?.code === "max_credits_reached"
    ? credits.leastMax
    : credits.suggestedMax;

/** Names the next call to make, with its arguments. */
export function describeNarrationNextStep(view: NarrationView): string {
  const call = `call narrate with narration_id ${view.narrationId}`;
  const sentence = describeNextStep(view, call);
  return capitalize(sentence);
}

const capitalize = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}`;

const describeRepeats = ({ argumentsToRepeat = [] }: NarrationView): string =>
  argumentsToRepeat.length === 0 ? "" : `, with ${argumentsToRepeat.join(" and ")}`;

/** Says how far the user may lower the suggested limit. */
const describeLeast = ({ credits: { leastMax, suggestedMax } }: NarrationView): string =>
  leastMax < suggestedMax ? ` (at least ${leastMax})` : "";

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
      return `Tell the user length and price. When they agree: ${call} and max_credits ${view.credits.suggestedMax}${describeRepeats(view)}, a ceiling${describeLeast(view)}: about ${view.credits.estimate} are charged${view.credits.charged > 0 ? " in all" : ""}, the rest is only held meanwhile.`;
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

/** Returns the next step after a limit that is unlikely to suffice. The user may have named the limit, or not. */
function describeLowLimitStep(limit: number, view: NarrationView, call: string): string {
  const repeats = describeRepeats(view);
  const whole = `Tell the user. For all of it: ${call} and max_credits ${proposeLimit(view)}${repeats}.`;
  return paysForNoPart(limit, view) || view.isReopened === true
    ? whole
    : `${whole} If they keep to ${limit}: that call with max_credits ${limit} makes what it pays for, and joins it. If they have named no limit, ask for one.`;
}

/**
 * Returns the next step if cues begin late: a call with the retakes or edits that the problems suggest. Returns an
 * empty text if no cue is late.
 */
function describeLateStep({ problems, lateMax }: NarrationView, call: string): string {
  if (!problems.some(({ code }) => code === "late")) return "";
  return ` If the late cues matter: ${call} and max_credits ${lateMax}, with the retakes or edits that are named; those parts are paid for again.`;
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
  const { max } = view.credits;
  const suggestedMax = proposeLimit(view);
  const isAgreed = first?.partIndex === null && max !== null && coversLikelyCost(max, view);
  const resumeAdvice = `${call} and max_credits ${isAgreed ? max : suggestedMax}: it goes on where it stopped, and pays for nothing twice.`;
  if (first === undefined) {
    if (max === null) return resumeAdvice;
    return `${call}: it goes on where it stopped, within the ${max} credits that were agreed, and pays for nothing twice.`;
  }
  // Suggest a retake. Repeating the call would not help, because the audio itself is bad.
  if (UNUSABLE_AUDIO_CODES.has(first.code)) {
    return `Ask the user whether to pay for that part again. If so: ${call}, max_credits ${suggestedMax}, and retakes with a quote of it and its next take, such as 2. With skip_failed true it is joined without that part, free.`;
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
