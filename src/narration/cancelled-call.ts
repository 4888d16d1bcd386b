/** Whether the end of a call means that somebody wants its work to stop. */
import { AudioError } from "../errors.ts";

/** JSON-RPC's code of a request that timed out is -32001. */
const GAVE_UP_WAITING = /-32001|time(?:d)?[ _-]?out|connection closed/i;

/**
 * A client that gives up waiting, or goes away, has not cancelled what it began; nor has this server, where it ends a
 * call that gets no answer in time.
 *
 * @param reason of the call's signal: the client's own words, or an error
 */
export function isCancelledByCaller(reason: unknown): boolean {
  if (reason instanceof AudioError) return false;
  const words = reason instanceof Error ? `${reason.name} ${reason.message}` : String(reason);
  return !GAVE_UP_WAITING.test(words);
}
