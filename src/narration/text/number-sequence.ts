/** Decides whether the numbers of a text are a sequence. What the sequence means, its callers decide. */

/** Share of the numbers that must go on from the one before. The others may be misread, or belong to something else. */
const MIN_GOING_ON_SHARE = 0.7;

/**
 * Whether most numbers are at least the one before, and exceed it by at most `maxStep`, or begin again.
 *
 * @param restarts whether a number may begin the sequence again
 */
export function isSequence(
  values: readonly number[],
  {
    restarts,
    maxStep = Number.POSITIVE_INFINITY,
  }: { restarts: (value: number) => boolean; maxStep?: number },
): boolean {
  const goingOn = values.slice(1).filter((value, index) => {
    const step = value - (values[index] ?? 0);
    return restarts(value) || (step >= 0 && step <= maxStep);
  });
  return goingOn.length >= MIN_GOING_ON_SHARE * (values.length - 1);
}
