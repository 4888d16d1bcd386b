/**
 * Finds the cues of a narration that begin late. Before the narration is made, estimates their lateness. Afterwards,
 * measures their lateness in the file.
 */
import type { Span } from "../../audio/join-request.ts";
import type { PartOperations } from "../../requests/use-cases/generate-part.ts";
import type { NarrationProblem, NarrationState, StoredPlan } from "../state/narration-state.ts";
import { buildPartRequest } from "../state/part-request.ts";
import type { PartSummary } from "../state/part-summary.ts";
import { buildLateRemarks, findOverruns, type TimedPart } from "./lateness.ts";

type RetakesState = Pick<NarrationState, "retakes">;

/** Maximum number of late cues that are reported one by one. */
const MAX_LATE = 20;

const isTimeline = ({ parts }: StoredPlan): boolean =>
  parts.some(({ startSeconds }) => startSeconds !== undefined);

const getSpeed = (plan: StoredPlan, state: RetakesState, partIndex: number): number =>
  buildPartRequest(plan, state, partIndex).input.speed ?? 1;

function buildTimedPart(
  plan: StoredPlan,
  state: RetakesState,
  index: number,
  lengthSeconds: number,
): TimedPart {
  const { startSeconds, cue } = plan.parts[index] ?? {};
  return { startSeconds, cue, lengthSeconds, speed: getSpeed(plan, state, index) };
}

/**
 * Returns remarks on the cues of a plan that are estimated to be late. Uses the known lengths of paid parts. If the
 * speed of a paid part changes, computes the new length from the known length.
 */
export async function estimateLateRemarks(
  partOperations: Pick<PartOperations, "findRecord">,
  plan: StoredPlan,
  state: RetakesState,
  records: PartSummary["records"],
): Promise<string[]> {
  if (!isTimeline(plan)) return [];
  const parts = plan.parts.map(async ({ estimatedSeconds }, index) => {
    const speedBefore = getSpeed(plan, { retakes: [] }, index);
    const speed = getSpeed(plan, state, index);
    const recordBefore =
      speed === speedBefore
        ? null
        : await partOperations.findRecord(buildPartRequest(plan, { retakes: [] }, index));
    const estimated = ((recordBefore?.audioSeconds ?? estimatedSeconds) * speedBefore) / speed;
    return buildTimedPart(plan, state, index, records[index]?.audioSeconds ?? estimated);
  });
  return buildLateRemarks(await Promise.all(parts));
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
  state: RetakesState,
  heard: readonly MeasuredPart[],
): NarrationProblem[] {
  if (!isTimeline(plan)) return [];
  const timed = heard.map(({ partIndex, leadSeconds, startSeconds, endSeconds }) => ({
    ...buildTimedPart(plan, state, partIndex, endSeconds - startSeconds),
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
