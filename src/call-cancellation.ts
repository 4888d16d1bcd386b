/** Decides whether the work for a call stops when the call ends. */
import { AudioError } from "./errors.ts";

/**
 * Matches the reasons that clients give when they only stop waiting. -32001 is the JSON-RPC code for a request that
 * timed out.
 */
const GAVE_UP_WAITING = /-32001|time(?:d)?[ _-]?out|connection closed/i;

/**
 * Whether the caller wants the work to stop. The work continues if a client only stops waiting or disconnects, or if
 * this server ends a call that gets no answer in time.
 *
 * @param reason the reason of the call's signal: the client's own words, or an error
 */
export function isCancelledByCaller(reason: unknown): boolean {
  if (reason instanceof AudioError) return false;
  const words = reason instanceof Error ? `${reason.name} ${reason.message}` : String(reason);
  return !GAVE_UP_WAITING.test(words);
}
