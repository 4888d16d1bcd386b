/** Decides when each sentence of a part is spoken: where its edges fall into silences, and in proportion where they do not. */
import { matchSilences } from "./match-silences.ts";
import type { Silence } from "./silences.ts";

export interface SentenceTime {
  readonly startSeconds: number;
  readonly endSeconds: number;
  /** Whether the beginning is certain: the beginning of the part, or the end of a silence. */
  readonly isHeard: boolean;
}

/** Divides the time between two known edges by weight. */
function proportional(weights: readonly number[], startSeconds: number, endSeconds: number): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let passed = 0;
  return weights.slice(0, -1).map((weight) => {
    passed += weight;
    return startSeconds + ((endSeconds - startSeconds) * passed) / total;
  });
}

/**
 * @param weights of the sentences, about the seconds that each takes; more than 0
 * @param lengthSeconds of the part's sound
 * @param silences inside it; none for formats whose silences are unknown
 * @returns one for each sentence, in order, from 0 to `lengthSeconds`
 */
export function sentenceTimes(
  weights: readonly number[],
  lengthSeconds: number,
  silences: readonly Silence[],
): SentenceTime[] {
  const usable = silences.filter(
    ({ startSeconds, endSeconds }) => startSeconds > 0 && endSeconds < lengthSeconds,
  );
  const found = matchSilences(weights, lengthSeconds, usable);
  const times: SentenceTime[] = [];
  let first = 0;
  let startSeconds = 0;
  // Edges without a silence are spread between their two neighbours that have one.
  for (let edge = 0; edge < weights.length; edge += 1) {
    const silence = edge < found.length ? found[edge] : undefined;
    if (edge < found.length && silence === undefined) continue;
    const endSeconds = silence?.startSeconds ?? lengthSeconds;
    const inner = proportional(weights.slice(first, edge + 1), startSeconds, endSeconds);
    const starts = [startSeconds, ...inner];
    starts.forEach((start, index) => {
      times.push({ startSeconds: start, endSeconds: inner[index] ?? endSeconds, isHeard: index === 0 });
    });
    startSeconds = silence?.endSeconds ?? lengthSeconds;
    first = edge + 1;
  }
  return times;
}
