/** Finds the parts whose audio is unusual. These parts are reported with the file, so that a person checks them. */
import type { JoinedAudio } from "../audio/join-request.ts";
import { MAXIMUM_CHARGE_SECONDS } from "../contract/billing.ts";
import { findLateCueProblems } from "./late-cues.ts";
import type { NarrationProblem, PartState } from "./part-status.ts";
import { getPartSpeed } from "./parts.ts";
import type { StoredPlan } from "./planning/stored-plan.ts";

/**
 * Tolerated difference between the length that the service stated and the length of the saved audio: a fixed length,
 * plus a share of the stated length. Encoders add some silence, and the service rounds the stated length.
 */
const LENGTH_TOLERANCE_SECONDS = 0.15;
const LENGTH_TOLERANCE_SHARE = 0.02;

const NEAR_SECONDS = 0.5;

/**
 * Words may be missing if a part's pace (its length divided by its estimated length) is below this share of the usual
 * pace.
 */
const SHORT_SHARE = 0.55;
/** Minimum number of parts from which a usual pace can be computed. */
const MIN_PARTS = 4;

function findUpperMedian(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 1;
}

/** Reports a part whose audio is not as long as the service stated. */
function describeLengthProblem(statedSeconds: number, playedSeconds: number): string | null {
  const tolerance = LENGTH_TOLERANCE_SECONDS + LENGTH_TOLERANCE_SHARE * statedSeconds;
  if (Math.abs(statedSeconds - playedSeconds) <= tolerance) return null;
  const remedy =
    playedSeconds < statedSeconds
      ? "Making the narration again, with its limit, downloads it again, free."
      : "Another take of it is made and paid for again.";
  return `Its audio plays ${playedSeconds.toFixed(1)} s, where the service said ${statedSeconds.toFixed(1)} s: listen to it. ${remedy}`;
}

/**
 * Reports a part that may be cut off: its audio is much shorter than its text suggests, or has the maximum length of
 * one task.
 */
function describeCutProblem(seconds: number, pace: number, medianPace: number): string | null {
  const isCut = Math.abs(seconds - MAXIMUM_CHARGE_SECONDS) <= NEAR_SECONDS || pace < SHORT_SHARE * medianPace;
  return isCut ? `It may be cut off (${seconds.toFixed(1)} s): listen to its end.` : null;
}

/**
 * Finds parts of one file that a person should check.
 *
 * @param joined where each of `parts` begins and ends in the file, in the order of `parts`
 * @param leadingSilenceSeconds silence at the start of each part of a timeline
 */
export function findDoubtfulParts(
  plan: StoredPlan,
  parts: readonly PartState[],
  joined: Pick<JoinedAudio, "parts">,
  leadingSilenceSeconds: readonly number[] = [],
): NarrationProblem[] {
  const partSeconds = joined.parts.map(({ startSeconds, endSeconds }) => endSeconds - startSeconds);
  const paces = parts.map(({ part: { position, speed } }, index) => {
    const { estimatedSeconds = 1 } = plan.parts[position] ?? {};
    // Correct the length for the speed. The estimate is for the plan's speed, and a retake may have another speed.
    const speedRatio = getPartSpeed(plan, position, speed) / getPartSpeed(plan, position, null);
    return ((partSeconds[index] ?? 0) * speedRatio) / estimatedSeconds;
  });
  const medianPace = parts.length < MIN_PARTS ? 0 : findUpperMedian(paces);
  const problems = parts.flatMap(({ part, task }, index): NarrationProblem[] => {
    const seconds = partSeconds[index] ?? 0;
    const statedSeconds = task?.output_seconds ?? task?.audio_seconds ?? seconds;
    const message =
      describeLengthProblem(statedSeconds, seconds) ??
      describeCutProblem(seconds, paces[index] ?? 0, medianPace);
    return message === null ? [] : [{ partIndex: part.position, code: "listen", message }];
  });
  const sounds = parts.map(({ part }, index) => {
    const { startSeconds = 0, endSeconds = 0 } = joined.parts[index] ?? {};
    const leadSeconds = leadingSilenceSeconds[index] ?? 0;
    const span = { startSeconds: startSeconds + leadSeconds, endSeconds };
    return { partIndex: part.position, speed: part.speed, leadSeconds, ...span };
  });
  return [...problems, ...findLateCueProblems(plan, sounds)];
}
