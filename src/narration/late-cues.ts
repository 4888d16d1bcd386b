/**
 * Finds the cues of a narration that begin late. Before the narration is made, estimates their lateness. Afterwards,
 * measures their lateness in the file.
 */
import type { Span } from "../audio/join-request.ts";
import type { NarrationProblem } from "./part-status.ts";
import { getPartSpeed } from "./parts.ts";
import type { StoredPlan } from "./planning/stored-plan.ts";
import { buildLateRemarks, findOverruns, type TimedPart } from "./timeline/lateness.ts";

/** The chosen speed of each part in the order of the plan; `null` for the plan's speed. */
export type ChosenSpeeds = ReadonlyArray<number | null>;

/** Maximum number of late cues that are reported one by one. */
const MAX_LATE = 20;

export const isTimeline = ({ parts }: StoredPlan): boolean =>
  parts.some(({ startSeconds }) => startSeconds !== undefined);

function buildTimedPart(
  plan: StoredPlan,
  speeds: ChosenSpeeds,
  index: number,
  lengthSeconds: number,
): TimedPart {
  const { startSeconds, cue } = plan.parts[index] ?? {};
  return { startSeconds, cue, lengthSeconds, speed: getPartSpeed(plan, index, speeds[index] ?? null) };
}

/**
 * Returns remarks on the cues of a plan that are estimated to be late. Uses the known lengths of paid parts. If the
 * speed of a paid part changes, computes the new length from the known length.
 *
 * @param knownSeconds the length of each part's audio; `null` if it is not known
 * @param plannedSeconds the length of the audio of each part's first take; `null` if it is not known
 */
export function estimateLateRemarks(
  plan: StoredPlan,
  speeds: ChosenSpeeds,
  knownSeconds: ReadonlyArray<number | null>,
  plannedSeconds: ReadonlyArray<number | null>,
): string[] {
  if (!isTimeline(plan)) return [];
  const parts = plan.parts.map(({ estimatedSeconds }, index) => {
    const ratio = getPartSpeed(plan, index, null) / getPartSpeed(plan, index, speeds[index] ?? null);
    const estimated = (plannedSeconds[index] ?? estimatedSeconds) * ratio;
    return buildTimedPart(plan, speeds, index, knownSeconds[index] ?? estimated);
  });
  return buildLateRemarks(parts);
}

/** The measured time span of a part in a file. */
export interface MeasuredPart extends Span {
  /** Index of the part in the plan. */
  readonly partIndex: number;
  /** Silence at the beginning of the part. */
  readonly leadSeconds: number;
}

/**
 * Reports each cue that begins late in a file, and the part that delays it.
 *
 * @param heard the measured parts, in order
 */
export function findLateCueProblems(
  plan: StoredPlan,
  speeds: ChosenSpeeds,
  heard: readonly MeasuredPart[],
): NarrationProblem[] {
  if (!isTimeline(plan)) return [];
  const timed = heard.map(({ partIndex, leadSeconds, startSeconds, endSeconds }) => ({
    ...buildTimedPart(plan, speeds, partIndex, endSeconds - startSeconds),
    leadSeconds,
  }));
  const overruns = findOverruns(
    timed,
    heard.map(({ startSeconds }) => startSeconds),
  );
  const reported = overruns
    .slice(0, MAX_LATE)
    .map(({ partIndex, nextCue, lateSeconds, furtherLateCueCount, fittingSpeed }) => {
      const cue = timed[partIndex]?.cue;
      const othersNote = furtherLateCueCount === 0 ? "" : `, and ${furtherLateCueCount} after it late, too`;
      const remedy =
        fittingSpeed === null
          ? "no speed would make it fit, but fewer words would (edits)"
          : `speed ${fittingSpeed} would fit (retakes, quote ${cue === undefined ? "its words" : `"cue ${cue}"`})`;
      const message = `Cue ${nextCue} begins ${lateSeconds.toFixed(1)} s late${othersNote}: this part is too long; ${remedy}.`;
      return { partIndex: heard[partIndex]?.partIndex ?? null, code: "late", message };
    });
  const furtherCount = overruns.length - reported.length;
  if (furtherCount === 0) return reported;
  const message = `${furtherCount} more parts run into the next cue; a higher speed for the whole makes fewer late.`;
  return [...reported, { partIndex: null, code: "late", message }];
}
