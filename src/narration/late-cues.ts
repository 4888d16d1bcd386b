/**
 * Finds the cues of a narration that begin late. Before the narration is made, estimates their lateness. Afterwards,
 * measures their lateness in the file.
 */
import type { Span } from "../audio/join-request.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { type NarrationSnapshot, readTasksOf, type TasksByFingerprint } from "../ledger/narration-rows.ts";
import type { NarrationProblem } from "./part-status.ts";
import { getPartSpeed } from "./parts.ts";
import type { Remark, StoredPlan } from "./planning/stored-plan.ts";
import { buildLateRemarks, findOverruns, type TimedPart } from "./timeline/lateness.ts";

/** Maximum number of late cues that are reported one by one. */
const MAX_LATE = 20;

const isTimeline = ({ parts }: StoredPlan): boolean =>
  parts.some(({ startSeconds }) => startSeconds !== undefined);

const buildTimedPart = (
  plan: StoredPlan,
  position: number,
  speed: number | null,
  lengthSeconds: number,
): TimedPart => {
  const { startSeconds, cue } = plan.parts[position] ?? {};
  return { startSeconds, cue, lengthSeconds, speed: getPartSpeed(plan, position, speed) };
};

const findSeconds = (tasks: TasksByFingerprint, fingerprint: string): number | null =>
  tasks.get(fingerprint)?.find(({ audio_seconds }) => audio_seconds !== null)?.audio_seconds ?? null;

/**
 * Returns remarks on the cues of a plan that are estimated to be late. Uses the known lengths of paid parts. If the
 * speed of a part was changed, computes the new length from that of its first take, as far as it is known.
 */
export async function estimateLateRemarks(
  ledger: Ledger,
  plan: StoredPlan,
  { narration, parts, tasks }: NarrationSnapshot,
): Promise<Remark[]> {
  if (!isTimeline(plan)) return [];
  const otherSpeed = parts.filter(({ speed }) => speed !== null).map(({ input }) => input);
  const firstTakes = await readTasksOf(ledger, narration, otherSpeed);
  const timed = parts.map(({ position, speed, input, fingerprint }) => {
    const ratio = getPartSpeed(plan, position, null) / getPartSpeed(plan, position, speed);
    const plannedSeconds = findSeconds(firstTakes, input) ?? plan.parts[position]?.estimatedSeconds ?? 0;
    return buildTimedPart(plan, position, speed, findSeconds(tasks, fingerprint) ?? plannedSeconds * ratio);
  });
  return buildLateRemarks(timed, plan.timelineEndSeconds).map(({ assistant: sentence, terminal }) => ({
    about: "text",
    sentence,
    terminal,
  }));
}

/** The measured time span of a part in a file. */
export interface MeasuredPart extends Span {
  /** Index of the part in the plan. */
  readonly partIndex: number;
  /** The chosen speed; `null` for the plan's speed. */
  readonly speed: number | null;
  /** Silence at the beginning of the part. */
  readonly leadSeconds: number;
}

/**
 * Reports each cue that begins late in a file, and the part that delays it, and an end that comes late.
 *
 * @param heard the measured parts, in order
 */
export function findLateCueProblems(plan: StoredPlan, heard: readonly MeasuredPart[]): NarrationProblem[] {
  if (!isTimeline(plan)) return [];
  const timed = heard.map(({ partIndex, speed, leadSeconds, startSeconds, endSeconds }) => ({
    ...buildTimedPart(plan, partIndex, speed, endSeconds - startSeconds),
    leadSeconds,
  }));
  const overruns = findOverruns(
    timed,
    plan.timelineEndSeconds,
    heard.map(({ startSeconds }) => startSeconds),
  );
  const reported = overruns
    .slice(0, MAX_LATE)
    .map(({ partIndex, nextCue, lateSeconds, furtherLateCueCount, fittingSpeed }) => {
      const cue = timed[partIndex]?.cue;
      const othersNote = furtherLateCueCount === 0 ? "" : `, and ${furtherLateCueCount} after it late, too`;
      const late = `${lateSeconds.toFixed(1)} s late${othersNote}: this part is too long;`;
      const what = nextCue === null ? `The end comes ${late}` : `Cue ${nextCue} begins ${late}`;
      const quote = cue === undefined ? "its words" : `cue ${cue}`;
      const [how, howInTerminal] =
        fittingSpeed === null
          ? ["(edits)", "in the file"]
          : [
              `(retakes, quote ${cue === undefined ? quote : `"${quote}"`})`,
              `(--retake "@${fittingSpeed}=${quote}")`,
            ];
      const remedy =
        fittingSpeed === null
          ? "no speed would make it fit, but fewer words would"
          : `speed ${fittingSpeed} would fit`;
      return {
        partIndex: heard[partIndex]?.partIndex ?? null,
        code: "late",
        message: `${what} ${remedy} ${how}.`,
        terminal: `${what} ${remedy} ${howInTerminal}.`,
      };
    });
  const furtherCount = overruns.length - reported.length;
  if (furtherCount === 0) return reported;
  const message = `${furtherCount} more parts run into the next cue; a higher speed for the whole makes fewer late.`;
  return [...reported, { partIndex: null, code: "late", message }];
}
