/** Words counts and durations. */

/** Formats a count with its noun: "1 part", "12 parts". */
export const formatCount = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`;

/** Formats a duration: "52 min", "40 s", "3 h 20 min". */
export function formatDuration(seconds: number): string {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
