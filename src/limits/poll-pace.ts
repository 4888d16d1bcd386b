/** How fast this process may poll as its reads are used up: pure arithmetic. */
import { READS_PER_WINDOW } from "../contract/service-limits.ts";

/** Until so many are used nobody is slowed down. */
const FREE_READS = 30;
const FASTEST = 25;
/** Left to downloads and to calls that ask explicitly. */
const RESERVED_READS = 8;

/** Reads of one window that polls may use. */
export const maxPolls = READS_PER_WINDOW - RESERVED_READS;

/**
 * Milliseconds between two polls of this process: none while at most half is used, then more the less is left.
 *
 * @param used reads that count in the window
 */
export function pollGapMs(used: number, windowMs: number): number {
  if (used <= FREE_READS) return 0;
  return windowMs / Math.max(RESERVED_READS, Math.min(maxPolls - used, FASTEST));
}
