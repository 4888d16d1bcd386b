/** What is odd about the sound of single parts: told with the file, for a person to listen to. */
import type { JoinedAudio } from "../audio/join.ts";
import type { NarrationProblem, NarrationState, StoredPlan } from "./narration-state.ts";
import { type PartFile, partRequest } from "./part-request.ts";
import { fittingSpeed, overruns } from "./timeline/lateness.ts";

/** Encoders add some silence, and services round. */
const LENGTH_TOLERANCE_SECONDS = 0.15;
const LENGTH_TOLERANCE_SHARE = 0.02;

/** A task may end here, whatever its text. */
const LONGEST_TASK_SECONDS = 120;
const NEAR_SECONDS = 0.5;

/** Less than this share of the usual pace: words may be missing. */
const SHORT_SHARE = 0.55;
/** More are not mended one by one. */
const LATE_MAX = 20;
/** Of fewer parts nobody can say what is usual. */
const LEAST_PARTS = 4;

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
  const isCut = Math.abs(seconds - LONGEST_TASK_SECONDS) <= NEAR_SECONDS || pace < SHORT_SHARE * usualPace;
  return isCut ? `It may be cut off (${seconds.toFixed(1)} s): listen to its end.` : null;
}

/** @param joined of these parts, in their order */
export function doubtsOf(
  plan: StoredPlan,
  state: Pick<NarrationState, "takes">,
  parts: readonly PartFile[],
  joined: Pick<JoinedAudio, "parts">,
): NarrationProblem[] {
  const played = joined.parts.map(({ startSeconds, endSeconds }) => endSeconds - startSeconds);
  const paces = parts.map(({ index }, at) => {
    const { estimatedSeconds = 1, settings } = plan.parts[index] ?? {};
    // The estimate is of the plan's speed, and a retake may have another.
    const planned = settings?.speed ?? plan.settings.speed ?? 1;
    const faster = (partRequest(plan, state, index).input.speed ?? 1) / planned;
    return ((played[at] ?? 0) * faster) / estimatedSeconds;
  });
  const usualPace = parts.length < LEAST_PARTS ? 0 : median(paces);
  const doubts = parts.flatMap(({ index, record }, at): NarrationProblem[] => {
    const seconds = played[at] ?? 0;
    const said = record.output?.durationSeconds ?? record.audioSeconds ?? seconds;
    const message = lengthDoubt(said, seconds) ?? cutDoubt(seconds, paces[at] ?? 0, usualPace);
    return message === null ? [] : [{ part: index, code: "listen", message }];
  });
  return [...doubts, ...lateOf(plan, state, parts, joined)];
}

/** Cues of subtitles that begin late, each told with the part that runs into it. */
function lateOf(
  plan: StoredPlan,
  state: Pick<NarrationState, "takes">,
  parts: readonly PartFile[],
  joined: Pick<JoinedAudio, "parts">,
): NarrationProblem[] {
  if (plan.parts.every(({ startSeconds }) => startSeconds === undefined)) return [];
  const timed = parts.map(({ index }, at) => {
    const { startSeconds = 0, endSeconds = 0 } = joined.parts[at] ?? {};
    return { ...plan.parts[index], lengthSeconds: endSeconds - startSeconds };
  });
  const late = overruns(
    timed,
    joined.parts.map(({ startSeconds }) => startSeconds),
  );
  const told = late.slice(0, LATE_MAX).map(({ part, nextCue, lateSeconds, othersLate, factor }) => {
    const index = parts[part]?.index ?? 0;
    const speed = fittingSpeed(partRequest(plan, state, index).input.speed ?? 1, factor);
    const others = othersLate === 0 ? "" : `, and ${othersLate} after it late, too`;
    const remedy =
      speed === null
        ? "no speed would make this part fit, but fewer words would (edits)"
        : `speed ${speed} for this part would fit (retakes)`;
    const message = `Cue ${nextCue} begins ${lateSeconds.toFixed(1)} s late${others}; ${remedy}.`;
    return { part: index, code: "late", message };
  });
  const rest = late.length - told.length;
  if (rest === 0) return told;
  const message = `${rest} more parts run into the next cue; a higher speed for the whole makes fewer late.`;
  return [...told, { part: null, code: "late", message }];
}
