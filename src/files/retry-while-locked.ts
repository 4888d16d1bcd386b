/** Retries operations that fail while a virus scanner or an indexer holds a new file open. */
import { setTimeout as sleep } from "node:timers/promises";
import { getSystemCode } from "./file-error.ts";

const TRANSIENT_CODES = new Set(["EBUSY", "EPERM", "EACCES"]);

/** Pauses between the tries; less than a second in total. */
const PAUSES_MS = [50, 150, 500];

/**
 * Tries an operation again, after short pauses, while it fails with one of the given codes.
 *
 * @param transientCodes error codes that may be temporary
 * @throws the error of the last try
 */
export async function retryWhileLocked<T>(
  action: () => Promise<T>,
  transientCodes: ReadonlySet<string> = TRANSIENT_CODES,
): Promise<T> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await action();
    } catch (error) {
      if (!transientCodes.has(getSystemCode(error) ?? "")) throw error;
    }
    await sleep(pauseMs);
  }
  return await action();
}
