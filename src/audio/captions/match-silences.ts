/** Finds the silences between sentences, from the expected length of each sentence and the length of each silence. */
import type { Silence } from "./silences.ts";

/** Maximum number of silences to search. Only the longest are kept, because the search takes quadratic time. */
const MAX_SILENCES = 150;
/** Maximum number of consecutive sentence edges that match no silence. */
const MAX_MISSING_SILENCES = 2;
const MISSING_SILENCE_COST = 6;
/**
 * The tolerance for the length of speech: this share of the expected length, plus `TOLERANCE_SECONDS`. If the actual
 * length differs from the expected length by exactly the tolerance, the cost is 1.
 */
const TOLERANCE_SHARE = 0.15;
const TOLERANCE_SECONDS = 0.25;
/**
 * The cost of matching a silence of length 0. A longer silence costs less. A silence at least as long as the usual
 * pause between sentences costs nothing.
 */
const SHORTNESS_COST = 8;

/**
 * A silence that is matched with an edge between two sentences. `previous` is the preceding match on the cheapest path.
 */
interface Step {
  readonly cost: number;
  /** Index of the last sentence before the edge. */
  readonly sentence: number;
  /** The end of the silence, where speech begins again. */
  readonly endSeconds: number;
  readonly silence: Silence | undefined;
  readonly previous: Step | undefined;
}

const measureSilence = ({ startSeconds, endSeconds }: Silence): number => endSeconds - startSeconds;

const selectLongestSilences = (silences: readonly Silence[], count: number): Silence[] =>
  [...silences].sort((one, other) => measureSilence(other) - measureSilence(one)).slice(0, count);

/**
 * Returns the cost of the speech between two matched edges. The cost grows with the difference between the actual and
 * the expected duration of the speech.
 */
function computeSpeechCost(seconds: number, expectedSeconds: number): number {
  const tolerance = TOLERANCE_SECONDS + TOLERANCE_SHARE * expectedSeconds;
  return ((seconds - expectedSeconds) / tolerance) ** 2;
}

/**
 * Matches silences to the edges between sentences, in order, at the lowest total cost.
 *
 * @param approximateSeconds the approximate speaking time of each sentence in seconds
 * @returns the silence of each edge, or undefined for an edge without one
 */
export function matchSilences(
  approximateSeconds: readonly number[],
  lengthSeconds: number,
  silences: readonly Silence[],
): (Silence | undefined)[] {
  const edges = approximateSeconds.length - 1;
  const searched = selectLongestSilences(silences, MAX_SILENCES).sort(
    (one, other) => one.startSeconds - other.startSeconds,
  );
  if (edges < 1 || searched.length === 0) return Array<undefined>(Math.max(0, edges)).fill(undefined);
  // Assume that the longest silences lie between sentences, because pauses inside sentences are shorter.
  const longest = selectLongestSilences(searched, edges).map(measureSilence);
  const medianSeconds = longest[Math.floor(longest.length / 2)] ?? 0;
  const pausedSeconds = longest.reduce((sum, seconds) => sum + seconds, 0);
  const spokenShare =
    (lengthSeconds - pausedSeconds) / approximateSeconds.reduce((sum, seconds) => sum + seconds, 0);
  const expectedSeconds = approximateSeconds.map((seconds) => seconds * spokenShare);
  const silenceCosts = searched.map(
    (silence) => SHORTNESS_COST * Math.max(0, 1 - measureSilence(silence) / medianSeconds) ** 2,
  );

  const start: Step = { cost: 0, sentence: -1, endSeconds: 0, silence: undefined, previous: undefined };
  /** The matches of each edge, indexed by the sentence before the edge and sorted by the times of their silences. */
  const steps: Step[][] = [];
  const findCheapestPath = (
    sentence: number,
    endSeconds: number,
  ): { cost: number; previous: Step } | undefined => {
    let cheapest: { cost: number; previous: Step } | undefined;
    let expectedPathSeconds = 0;
    for (let from = sentence; from >= Math.max(0, sentence - MAX_MISSING_SILENCES); from -= 1) {
      expectedPathSeconds += expectedSeconds[from] ?? 0;
      const missingSilences = sentence - from;
      for (const previous of from === 0 ? [start] : (steps[from - 1] ?? [])) {
        if (previous.endSeconds >= endSeconds) break;
        const spoken = endSeconds - previous.endSeconds;
        const pauses = missingSilences * medianSeconds;
        const cost =
          previous.cost +
          missingSilences * MISSING_SILENCE_COST +
          computeSpeechCost(spoken - pauses, expectedPathSeconds);
        if (cheapest === undefined || cost < cheapest.cost) cheapest = { cost, previous };
      }
    }
    return cheapest;
  };
  for (let sentence = 0; sentence < edges; sentence += 1) {
    steps.push(
      searched.flatMap((silence, index) => {
        const cheapestPath = findCheapestPath(sentence, silence.startSeconds);
        if (cheapestPath === undefined) return [];
        const cost = cheapestPath.cost + (silenceCosts[index] ?? 0);
        return [{ cost, sentence, endSeconds: silence.endSeconds, silence, previous: cheapestPath.previous }];
      }),
    );
  }
  const chosenSilences = Array<Silence | undefined>(edges).fill(undefined);
  let step = findCheapestPath(edges, lengthSeconds)?.previous;
  for (; step?.silence !== undefined; step = step.previous) chosenSilences[step.sentence] = step.silence;
  return chosenSilences;
}
