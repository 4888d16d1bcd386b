/**
 * Decides when each sentence of a part is spoken. If a silence matches the edge between two sentences, the earlier
 * sentence ends when the silence begins, and the later sentence begins when the silence ends. All other times follow
 * from the weights of the sentences.
 */
import { matchSilences } from "./match-silences.ts";
import type { Silence } from "./silences.ts";

export interface SentenceTime {
  readonly startSeconds: number;
  readonly endSeconds: number;
  /** True if the start is certain, because the sentence begins at the beginning of the part or after a silence. */
  readonly isMeasured: boolean;
}

/** Divides the time between two known edges in proportion to the weights. Returns the edges in between, in seconds. */
function divideInProportion(weights: readonly number[], startSeconds: number, endSeconds: number): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let passed = 0;
  return weights.slice(0, -1).map((weight) => {
    passed += weight;
    return startSeconds + ((endSeconds - startSeconds) * passed) / total;
  });
}

/**
 * Computes when each sentence of a part is spoken.
 *
 * @param weights the approximate speaking time of each sentence in seconds, more than 0
 * @param lengthSeconds duration of the part's sound
 * @param silences the silences of the part; empty for formats whose loudness cannot be measured
 * @returns the times of the sentences in order, from 0 to `lengthSeconds`
 */
export function timeSentences(
  weights: readonly number[],
  lengthSeconds: number,
  silences: readonly Silence[],
): SentenceTime[] {
  const usable = silences.filter(
    ({ startSeconds, endSeconds }) => startSeconds > 0 && endSeconds < lengthSeconds,
  );
  const matchedSilences = matchSilences(weights, lengthSeconds, usable);
  const times: SentenceTime[] = [];
  let first = 0;
  let startSeconds = 0;
  // If no silence matches an edge between sentences, compute the time of the edge from the nearest earlier and later
  // edges that have a silence.
  for (let edge = 0; edge < weights.length; edge += 1) {
    const silence = edge < matchedSilences.length ? matchedSilences[edge] : undefined;
    if (edge < matchedSilences.length && silence === undefined) continue;
    const endSeconds = silence?.startSeconds ?? lengthSeconds;
    const segmentTimes = divideInProportion(weights.slice(first, edge + 1), startSeconds, endSeconds);
    const starts = [startSeconds, ...segmentTimes];
    starts.forEach((start, index) => {
      times.push({
        startSeconds: start,
        endSeconds: segmentTimes[index] ?? endSeconds,
        isMeasured: index === 0,
      });
    });
    startSeconds = silence?.endSeconds ?? lengthSeconds;
    first = edge + 1;
  }
  return times;
}
