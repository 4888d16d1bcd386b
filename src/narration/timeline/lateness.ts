/**
 * Finds the parts of a timeline that run into the next cue, or past the end, and the speed at which they would fit.
 */

export interface TimedPart {
  /** Start time; absent if the part starts directly after the previous one. */
  readonly startSeconds?: number | undefined;
  readonly cue?: string | undefined;
  readonly lengthSeconds: number;
  /** Leading silence. It plays before the start time, and does not count toward the part's length. */
  readonly leadSeconds?: number | undefined;
  /** Speed at which the part has `lengthSeconds`. */
  readonly speed: number;
}

/** A part that is too long for the time until the next cue, or until the end of the timeline. */
export interface Overrun {
  /** Index of the part. */
  readonly partIndex: number;
  /** Name of the next cue, which begins late because of this part; `null` at the end of the timeline. */
  readonly nextCue: string | null;
  readonly lateSeconds: number;
  /** Number of further cues that are late because of this part. */
  readonly furtherLateCueCount: number;
  /** Speed at which the part would fit; `null` if the service allows no such speed. */
  readonly fittingSpeed: number | null;
}

/** Maximum lateness that is not reported. Listeners do not notice it, and the length of audio frames can cause it. */
const MAX_UNHEARD_SECONDS = 0.05;
/** Maximum estimated lateness that is not reported. The estimate may be wrong by this much. */
const MAX_UNREPORTED_ESTIMATE_SECONDS = 0.3;
/** Silence to leave before the next cue when the fitting speed is computed. */
const MIN_GAP_SECONDS = 0.1;

/** A part with a start time, and the parts that follow it directly. */
interface CueGroup {
  readonly firstPartIndex: number;
  readonly startSeconds: number;
  readonly cue: string;
  lengthSeconds: number;
  /** Index of the longest of the parts. */
  longestPartIndex: number;
}

function groupByCue(parts: readonly TimedPart[]): CueGroup[] {
  const groups: CueGroup[] = [];
  for (const [index, { startSeconds, cue = `${index + 1}`, lengthSeconds }] of parts.entries()) {
    const last = groups.at(-1);
    if (startSeconds !== undefined || last === undefined) {
      groups.push({
        firstPartIndex: index,
        longestPartIndex: index,
        startSeconds: startSeconds ?? 0,
        cue,
        lengthSeconds,
      });
      continue;
    }
    last.lengthSeconds += lengthSeconds;
    if (lengthSeconds > (parts[last.longestPartIndex]?.lengthSeconds ?? 0)) last.longestPartIndex = index;
  }
  return groups;
}

/**
 * Finds each part that is too long for the time until the next cue. If a part is short enough, but ends late because an
 * earlier part delays it, the next cue counts as a further late cue of the earlier part.
 *
 * @param parts in the order of the timeline
 * @param timelineEndSeconds when the last cue ends; absent if nobody knows
 * @param measuredStartSeconds measured start of each part; if absent, the starts are computed from the lengths
 */
export function findOverruns(
  parts: readonly TimedPart[],
  timelineEndSeconds?: number,
  measuredStartSeconds?: readonly number[],
): Overrun[] {
  const overruns: Array<{ -readonly [Key in keyof Overrun]: Overrun[Key] }> = [];
  const cueGroups = groupByCue(parts);
  let endSeconds = 0;
  for (const [index, cueGroup] of cueGroups.entries()) {
    endSeconds =
      (measuredStartSeconds?.[cueGroup.firstPartIndex] ?? Math.max(cueGroup.startSeconds, endSeconds)) +
      cueGroup.lengthSeconds;
    const next = cueGroups[index + 1];
    const dueSeconds = next?.startSeconds ?? timelineEndSeconds;
    if (dueSeconds === undefined) break;
    const startOfNext = next === undefined ? undefined : measuredStartSeconds?.[next.firstPartIndex];
    const lateSeconds = (startOfNext ?? endSeconds) - dueSeconds;
    if (
      lateSeconds <=
      (measuredStartSeconds === undefined ? MAX_UNREPORTED_ESTIMATE_SECONDS : MAX_UNHEARD_SECONDS)
    )
      continue;
    const { leadSeconds = 0 } = next === undefined ? {} : (parts[next.firstPartIndex] ?? {});
    const gapSeconds = next === undefined ? 0 : leadSeconds + MIN_GAP_SECONDS;
    const availableSeconds = dueSeconds - gapSeconds - cueGroup.startSeconds;
    const last = overruns.at(-1);
    // This part would fit, but an earlier part delays it. The next cue is therefore a further late cue of the earlier
    // part.
    if (cueGroup.lengthSeconds <= availableSeconds && last !== undefined) {
      if (next !== undefined) last.furtherLateCueCount += 1;
      continue;
    }
    const { lengthSeconds: longestSeconds = 0, speed = 1 } = parts[cueGroup.longestPartIndex] ?? {};
    const secondsLeft = availableSeconds - (cueGroup.lengthSeconds - longestSeconds);
    const fitting = secondsLeft > 0 ? roundUpToSpeedStep((speed * longestSeconds) / secondsLeft) : null;
    overruns.push({
      partIndex: cueGroup.longestPartIndex,
      nextCue: next?.cue ?? null,
      lateSeconds,
      furtherLateCueCount: 0,
      fittingSpeed: fitting,
    });
  }
  return overruns;
}

const MAX_SPEED = 2;
/** Suggested speeds are multiples of this step. */
const SPEED_STEP = 0.05;

/**
 * Rounds a speed up to a multiple of {@link SPEED_STEP}; `null` if the result exceeds the maximum speed of the service.
 */
function roundUpToSpeedStep(speed: number): number | null {
  const neededSpeed = Math.ceil(speed / SPEED_STEP - 1e-6) * SPEED_STEP;
  return neededSpeed <= MAX_SPEED + 1e-9 ? Math.round(neededSpeed * 100) / 100 : null;
}

const MAX_SHOWN_OVERRUNS = 5;

/**
 * Returns one remark on all parts that are estimated to run into the next cue or past the end; an empty list if there
 * are no such parts. It says how the first one is made faster alone.
 */
export function buildLateRemarks(
  parts: readonly TimedPart[],
  timelineEndSeconds?: number,
): Array<{ assistant: string; terminal: string }> {
  const overruns = findOverruns(parts, timelineEndSeconds);
  if (overruns.length === 0) return [];
  const cueOf = (part: number): string =>
    parts.slice(0, part + 1).findLast(({ cue }) => cue !== undefined)?.cue ?? `${part + 1}`;
  const nameCue = ({ partIndex, fittingSpeed }: Overrun): string =>
    `cue ${cueOf(partIndex)} (${fittingSpeed === null ? "no speed is fast enough" : `speed ${fittingSpeed}`})`;
  const early = overruns.filter(({ nextCue }) => nextCue !== null);
  const shownCues = early.slice(0, MAX_SHOWN_OVERRUNS).map(nameCue);
  const neededSpeeds = overruns.map(({ fittingSpeed }) => fittingSpeed ?? Number.POSITIVE_INFINITY);
  const speedForAll = Math.max(...neededSpeeds);
  const isAlike = parts.every(({ speed }) => speed === parts[0]?.speed);
  const count = early.length === 1 ? "1 part is" : `${early.length} parts are`;
  const intoNext = `${count} estimated to run into the next cue, which then begins late: ${shownCues.join(", ")}${early.length > MAX_SHOWN_OVERRUNS ? " and others" : ""}.`;
  const pastEnd = overruns
    .filter(({ nextCue }) => nextCue === null)
    .map((last) => `The end is estimated to come ${last.lateSeconds.toFixed(1)} s late: ${nameCue(last)}.`);
  const fits = `At speed ${speedForAll} for the whole text, nothing is estimated to be late.`;
  const remark = [
    ...(early.length === 0 ? [] : [intoNext]),
    ...pastEnd,
    ...(isAlike && Number.isFinite(speedForAll) ? [fits] : []),
  ].join(" ");
  const faster = overruns.find(({ fittingSpeed }) => fittingSpeed !== null);
  if (faster === undefined) return [{ assistant: remark, terminal: remark }];
  const [quote, speed] = [`cue ${cueOf(faster.partIndex)}`, faster.fittingSpeed];
  return [
    {
      assistant: `${remark} Only these faster: retakes [{"quote":"${quote}","speed":${speed}}, …].`,
      terminal: `${remark} Only these faster: --retake "@${speed}=${quote}" for each.`,
    },
  ];
}
