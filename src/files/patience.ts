/** Tries again what a virus scanner or an indexer forbids for a moment: they hold a file open just after it was written. */
import { setTimeout as sleep } from "node:timers/promises";
import { systemCode } from "./file-failure.ts";

const PASSING = new Set(["EBUSY", "EPERM", "EACCES"]);

/** Between the tries; together less than a second. */
const PAUSES_MS = [50, 150, 500];

/**
 * @param passing the codes that may go away by themselves
 * @throws what the last try threw
 */
export async function patiently<T>(
  action: () => Promise<T>,
  passing: ReadonlySet<string> = PASSING,
): Promise<T> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await action();
    } catch (error) {
      if (!passing.has(systemCode(error) ?? "")) throw error;
    }
    await sleep(pauseMs);
  }
  return await action();
}
