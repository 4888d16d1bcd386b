/** Finds parts whose sound is odd. They are reported with the file, so that a person listens to them. */
import type { JoinedAudio } from "../audio/join.ts";
import type { NarrationProblem, NarrationState, StoredPlan } from "./narration-state.ts";
import { type PartFile, partRequest } from "./part-request.ts";
import { lateCues } from "./timeline/late-cues.ts";

/** Encoders add some silence, and services round. */
const LENGTH_TOLERANCE_SECONDS = 0.15;
const LENGTH_TOLERANCE_SHARE = 0.02;

/** A task may end here, whatever its text. */
const MAX_TASK_SECONDS = 120;
const NEAR_SECONDS = 0.5;

/** Less than this share of the usual pace: words may be missing. */
const SHORT_SHARE = 0.55;
/** With fewer parts, nothing can be called usual. */
const MIN_PARTS = 4;

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 1;
}

/** A part whose file does not play as long as the service has said. */
function lengthDoubt(said: number, played: number): string | null {
  const tolerance = LENGTH_TOLERANCE_SECONDS + LENGTH_TOLERANCE_SHARE * said;
  if (Math.abs(said - played) <= tolerance) return null;
  return `Its audio plays ${played.toFixed(1)} s, where the service said ${said.toFixed(1)} s: listen to it. Another take of it (retakes) is made anew.`;
}

/** A part that is much shorter than its text, or ends where tasks may end. */
function cutDoubt(seconds: number, pace: number, usualPace: number): string | null {
  const isCut = Math.abs(seconds - MAX_TASK_SECONDS) <= NEAR_SECONDS || pace < SHORT_SHARE * usualPace;
  return isCut ? `It may be cut off (${seconds.toFixed(1)} s): listen to its end.` : null;
}

/**
 * @param joined of these parts, in their order
 * @param leads of a timeline, the silence at the beginning of each
 */
export function doubtsOf(
  plan: StoredPlan,
  state: Pick<NarrationState, "takes">,
  parts: readonly PartFile[],
  joined: Pick<JoinedAudio, "parts">,
  leads: readonly number[] = [],
): NarrationProblem[] {
  const played = joined.parts.map(({ startSeconds, endSeconds }) => endSeconds - startSeconds);
  const paces = parts.map(({ index }, at) => {
    const { estimatedSeconds = 1, settings } = plan.parts[index] ?? {};
    // The estimate is of the plan's speed, and a retake may have another.
    const planned = settings?.speed ?? plan.settings.speed ?? 1;
    const faster = (partRequest(plan, state, index).input.speed ?? 1) / planned;
    return ((played[at] ?? 0) * faster) / estimatedSeconds;
  });
  const usualPace = parts.length < MIN_PARTS ? 0 : median(paces);
  const doubts = parts.flatMap(({ index, record }, at): NarrationProblem[] => {
    const seconds = played[at] ?? 0;
    const said = record.output?.durationSeconds ?? record.audioSeconds ?? seconds;
    const message = lengthDoubt(said, seconds) ?? cutDoubt(seconds, paces[at] ?? 0, usualPace);
    return message === null ? [] : [{ part: index, code: "listen", message }];
  });
  const sounds = parts.map(({ index }, at) => {
    const { startSeconds = 0, endSeconds = 0 } = joined.parts[at] ?? {};
    const leadSeconds = leads[at] ?? 0;
    return { index, leadSeconds, startSeconds: startSeconds + leadSeconds, endSeconds };
  });
  return [...doubts, ...lateCues(plan, state, sounds)];
}
