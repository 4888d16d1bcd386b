/** Computes the pace of this process's polls from the remaining reads. Pure. */
import { READS_PER_WINDOW } from "../contract/service-limits.ts";

/** Polls slow down only above this number of used reads. */
const READS_BEFORE_SLOWING = READS_PER_WINDOW / 2;
/** The reads reserved for downloads and explicit queries. */
const RESERVED_READS = 8;
/** Minimum number of polls in a window once polls have slowed down. */
const MIN_SLOWED_POLLS = 8;

/** Maximum number of reads in one window that polls may use. */
export const MAX_POLLS = READS_PER_WINDOW - RESERVED_READS;

/**
 * Returns the milliseconds between two polls of this process. The result is 0 until half of the reads of a limit window
 * are used. Then it grows with each used read, up to an eighth of the window.
 *
 * @param used number of reads that count in the limit window
 */
export function computePollSpacingMs(used: number, limitWindowMs: number): number {
  if (used <= READS_BEFORE_SLOWING) return 0;
  return limitWindowMs / Math.max(MIN_SLOWED_POLLS, MAX_POLLS - used);
}
