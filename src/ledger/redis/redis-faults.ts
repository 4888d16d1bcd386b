/** Words for what can be wrong with Redis, and which of it a new connection may mend. */
import { AudioError } from "../../errors.ts";
import { describeCause } from "../../log.ts";

/** The server did not answer in time: what it still does belongs to nobody. */
export class TimedOut extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms / 1000} seconds`);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "");

/**
 * Nothing was done, and behind the address there may be another server by now: a failover, a restart, a password that
 * a new master wants, a cluster where there was one server. The last two are a cluster's node that went away before
 * the command was sent.
 */
const MENDED_BY_RECONNECTING =
  /^(?:READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|NOAUTH|MOVED|ASK|TRYAGAIN)\b|^The client is (?:closed|offline)$/;

export const isMendedByReconnecting = (error: unknown): boolean =>
  MENDED_BY_RECONNECTING.test(messageOf(error));

export const isMissingScript = (error: unknown): boolean => messageOf(error).startsWith("NOSCRIPT");

/**
 * @param place where the server is, for a person
 * @param clean takes credentials out of a text
 */
export function redisFault(error: unknown, place: string, clean: (text: string) => string): AudioError {
  if (error instanceof AudioError) return error;
  const why = clean(describeCause(error));
  if (/\bOOM\b/.test(why)) {
    return new AudioError(
      "store_unavailable",
      `The shared store at ${place} is full: its Redis has reached maxmemory.`,
      { retryable: true, remedy: "Give that Redis server more memory (maxmemory), then call again." },
    );
  }
  const isRefused = /NOAUTH|WRONGPASS|NOPERM/.test(why);
  return new AudioError("store_unavailable", `The shared store at ${place} cannot be used: ${why}.`, {
    retryable: !isRefused,
    remedy: isRefused
      ? "Check the user and the password in AUDIO_STORE_URL."
      : "Check that the Redis server of AUDIO_STORE_URL runs and can be written, then call again.",
  });
}
