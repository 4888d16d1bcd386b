/**
 * Writes an event of an accepted task. Waits while the store is unavailable, because a task id that is only in
 * memory would be lost.
 */
import { computeBackoffMs } from "../../api/retry.ts";
import { Deadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { ChangeOptions } from "../../ledger/ledger.ts";
import { applyEvent, type RequestEvent } from "../../ledger/lifecycle.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import type { RequestDeps } from "../deps.ts";
import type { Job } from "./job.ts";

/**
 * Maximum delay between two tries. It is not multiplied by the time scale, because the delay waits for the store and
 * not for the service.
 */
const MAX_DELAY_MS = 5000;

/**
 * Applies an event to the job's record. While the ledger cannot be written, applies the event in memory, and retries
 * the write until the recovery timeout passes.
 *
 * @returns the stored record
 * @throws AudioError `store_unavailable` when the recovery timeout passes; the signal's reason if the job stops
 */
export async function applyEventWithRetry(
  job: Job,
  deps: RequestDeps,
  event: RequestEvent,
  options: ChangeOptions = {},
): Promise<RequestRecord> {
  const { ledger, clock, timing, random, log } = deps;
  const knownRecord = job.record;
  const recovery = new Deadline(clock, timing.recoveryTimeoutMs);
  for (let failures = 1; ; failures += 1) {
    try {
      job.record = (await ledger.apply(knownRecord, event, options)) ?? knownRecord;
      return job.record;
    } catch (error) {
      const isStoreUnavailable = error instanceof AudioError && error.code === "store_unavailable";
      if (!isStoreUnavailable) throw error;
      if (recovery.isOver || job.signal.aborted) throw notWrittenError(error);
      log.warn("the ledger cannot be written; what is known is kept in memory and written later", error);
      // Callers see the new state while the write is retried.
      job.record = applyEvent(knownRecord, event);
      const delayMs = Math.min(MAX_DELAY_MS, computeBackoffMs(failures, random));
      job.setPhase({ kind: "retrying", error, untilMs: clock.steadyMs() + delayMs });
      await clock.sleep(delayMs, job.signal);
    }
  }
}

/**
 * Builds an error whose remedy says that the service has accepted the request. The usual remedy of `store_unavailable`
 * says that nothing was sent.
 */
function notWrittenError({ message, cause }: AudioError): AudioError {
  return new AudioError("store_unavailable", message, {
    retryable: true,
    remedy:
      "The service has accepted the request, and the ledger could not record that. Ask the user to fix the fault named above, then repeat the same call: it finds the same task and does not pay twice.",
    cause,
  });
}
