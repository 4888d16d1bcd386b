/** Acquires the lease of a record, or follows the progress of the process that holds it. */
import { Deadline } from "../../deadline.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import { describeCause } from "../../log.ts";
import type { RequestDeps } from "../deps.ts";
import { findSaved } from "../records/find-saved.ts";
import type { Job, JobOutcome } from "./job.ts";

/**
 * The lease owner usually saves the audio within this time. After this time, a follower downloads a copy if its own
 * folder does not have the audio.
 */
const OWNER_SAVE_TIMEOUT_MS = 3000;

export type LeaseOutcome =
  /**
   * This process has the lease. `hadFailedAttempt`: whether a task of the record had failed before this process
   * acquired the lease.
   */
  | { readonly kind: "acquired"; readonly hadFailedAttempt: boolean }
  /** Another process holds the lease, but the audio is ready to download. */
  | { readonly kind: "downloadable" }
  | { readonly kind: "ended"; readonly outcome: JobOutcome };

/**
 * Acquires the lease of the record. While another process holds the lease, follows the record until its task has ended
 * or the lease is free. A `resume` job follows only while a caller waits for the job.
 */
export async function acquireOrFollow(job: Job, deps: RequestDeps): Promise<LeaseOutcome> {
  const { ledger, clock, timing } = deps;
  const { attempt, status, apiKeyId } = job.record;
  // Drive only records of this API key. The record of another API key reaches this line, for example, if its audio file
  // was removed from this machine a moment ago.
  if (apiKeyId !== ledger.identity.apiKeyId) return { kind: "ended", outcome: { kind: "no_result" } };
  let ownerDeadline: Deadline | null = null;
  for (;;) {
    const { record, isOurs } = await ledger.acquireLease(job.record);
    const previousRecord = job.record;
    job.record = record;
    if (isOurs) {
      keepLeaseRenewed(job, deps);
      // The task failed while this job was following, so this call reports the failure.
      if (isNewFailure(record, attempt, status))
        return { kind: "ended", outcome: { kind: "failed", record } };
      await applyFileName(job, previousRecord, deps);
      return { kind: "acquired", hadFailedAttempt: record.status === "failed" || record.attempt > 1 };
    }
    if (!job.hasCallers && job.purpose === "resume") return { kind: "ended", outcome: { kind: "no_result" } };
    if (isNewFailure(record, attempt, status)) return { kind: "ended", outcome: { kind: "failed", record } };
    if (record.status === "succeeded") {
      const file = await findSaved(deps, record, record.fileName);
      if (file?.matchesFormat === true) return { kind: "ended", outcome: { kind: "saved", record, file } };
      ownerDeadline ??= new Deadline(clock, OWNER_SAVE_TIMEOUT_MS);
      if (ownerDeadline.isOver) return { kind: "downloadable" };
    }
    if (job.phase.kind !== "following" || record.status !== previousRecord.status)
      job.setPhase({ kind: "following" });
    await clock.sleep(timing.followIntervalMs, job.signal);
  }
}

/** Renews the lease while the job runs. If the lease is lost, acquires it again or stops the job. */
function keepLeaseRenewed(job: Job, deps: RequestDeps): void {
  const { recordId } = job.record;
  deps.limits.heartbeats.startRenewingLease(recordId, () => {
    acquireAgain(job, deps).catch((error: unknown) => {
      deps.log.debug(`a lost lease could not be acquired again yet: ${describeCause(error)}`);
      keepLeaseRenewed(job, deps);
    });
  });
  // Stop the renewal after the job has ended, because `acquireAgain` may have restarted it just before the end.
  void job.outcome.then(() => deps.limits.heartbeats.stopRenewingLease(recordId));
}

/**
 * Acquires a lost lease again, or stops the job. The job continues only if the service has accepted its submission, the
 * ledger has no newer version of the record, and the lease is free. If somebody emptied the ledger, acquiring the lease
 * stores the record again.
 */
async function acquireAgain(job: Job, deps: RequestDeps): Promise<void> {
  const { ledger } = deps;
  const storedRecord = await ledger.get(job.record.recordId);
  const isOurStateNewest = storedRecord === null || storedRecord.revision <= job.record.revision;
  if (job.record.taskId !== null && isOurStateNewest && (await ledger.acquireLease(job.record)).isOurs) {
    keepLeaseRenewed(job, deps);
  } else job.stop();
}

function isNewFailure(record: RequestRecord, attempt: number, status: RequestRecord["status"]): boolean {
  return record.status === "failed" && (status !== "failed" || record.attempt !== attempt);
}

/** Sets this call's file name on a request that is about to be sent. The name replaces that of an earlier call. */
async function applyFileName(job: Job, requested: RequestRecord, { ledger }: RequestDeps): Promise<void> {
  const { status } = job.record;
  if (job.purpose !== "submit" || (status !== "waiting" && status !== "failed")) return;
  const { fileName, fileToReplace } = requested;
  job.record =
    (await ledger.apply(job.record, { kind: "file_named", fileName, fileToReplace })) ?? job.record;
}
