/** Words counts and durations. */

/** Formats a count with its noun: "1 part", "12 parts". */
export const formatCount = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`;

/** Below this length, a duration is rounded to ten seconds, so that the lengths of chapters add up to their sum. */
const MIN_ROUNDED_TO_MINUTES_SECONDS = 595;

/** Formats a duration: "40 s", "2 min 30 s", "52 min", "3 h 20 min". */
export function formatDuration(seconds: number): string {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < MIN_ROUNDED_TO_MINUTES_SECONDS) {
    const tens = Math.round(seconds / 10);
    return `${Math.floor(tens / 6)} min${tens % 6 === 0 ? "" : ` ${(tens % 6) * 10} s`}`;
  }
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
