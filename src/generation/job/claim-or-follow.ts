/** Who drives a record: this process, when it gets the lease; otherwise it follows what the other one does. */
import { Deadline } from "../../deadline.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import { describeCause } from "../../log.ts";
import type { GenerationDeps } from "../deps.ts";
import { findSaved } from "../saved-files.ts";
import type { Job, JobEnd } from "./job.ts";

/** The driver saves the audio where it is; a follower whose folder is elsewhere fetches its own copy after this. */
const DRIVER_SAVES_WITHIN_MS = 3000;

export type ClaimResult =
  /** `hadFailed`: the record's last task had failed before this job began. */
  | { readonly kind: "ours"; readonly hadFailed: boolean }
  /** It is not ours to drive, but its audio is ready to be fetched. */
  | { readonly kind: "fetch" }
  | { readonly kind: "end"; readonly end: JobEnd };

/** Claims the record, or looks on until it is done or its driver is gone. A job that nobody waits for is not followed. */
export async function claimOrFollow(job: Job, deps: GenerationDeps): Promise<ClaimResult> {
  const { ledger, clock, timing } = deps;
  const { attempt, status, accountId } = job.record;
  // Only this key's records are driven; another key's was handed on for its file, which has gone meanwhile.
  if (accountId !== ledger.identity.accountId) return { kind: "end", end: { kind: "left" } };
  let succeeded: Deadline | null = null;
  for (;;) {
    const { record, isOurs } = await ledger.claim(job.record);
    const before = job.record;
    job.record = record;
    if (isOurs) {
      keepLease(job, deps);
      // It failed while this job was looking on: that is this call's news, not an earlier call's.
      if (isNewFailure(record, attempt, status)) return { kind: "end", end: { kind: "failed", record } };
      await applyFileName(job, before, deps);
      return { kind: "ours", hadFailed: record.status === "failed" || record.attempt > 1 };
    }
    if (!job.hasCallers && job.purpose === "finish") return { kind: "end", end: { kind: "left" } };
    if (isNewFailure(record, attempt, status)) return { kind: "end", end: { kind: "failed", record } };
    if (record.status === "succeeded") {
      const file = await findSaved(deps, record, record.fileName);
      if (file?.isSound === true) return { kind: "end", end: { kind: "saved", record, file } };
      succeeded ??= new Deadline(clock, DRIVER_SAVES_WITHIN_MS);
      if (succeeded.isOver) return { kind: "fetch" };
    }
    if (job.phase.kind !== "following" || record.status !== before.status) job.enter({ kind: "following" });
    await clock.sleep(timing.followMs, job.signal);
  }
}

/** While the job runs. A lease that another process has by now ends the job. */
function keepLease(job: Job, deps: GenerationDeps): void {
  const { recordId } = job.record;
  deps.limits.keepLease(recordId, () => {
    claimAgain(job, deps).catch((error: unknown) => {
      deps.log.debug(`a lost lease could not be claimed again yet: ${describeCause(error)}`);
      keepLease(job, deps);
    });
  });
  // It may have been lost, and claimed again, just as the job ended.
  void job.end.then(() => deps.limits.dropLease(recordId));
}

/** A lease also goes with its record, when somebody wipes the ledger: what is known of the task is written back then. */
async function claimAgain(job: Job, deps: GenerationDeps): Promise<void> {
  const { ledger } = deps;
  const stored = await ledger.get(job.record.recordId);
  const isOurWord = stored === null || stored.revision <= job.record.revision;
  if (job.record.taskId !== null && isOurWord && (await ledger.claim(job.record)).isOurs) {
    keepLease(job, deps);
  } else job.stop();
}

function isNewFailure(record: TaskRecord, attempt: number, status: TaskRecord["status"]): boolean {
  return record.status === "failed" && (status !== "failed" || record.attempt !== attempt);
}

/** A request that is to be sent, or sent anew, takes the name of the call that does it, not of an earlier one. */
async function applyFileName(job: Job, asked: TaskRecord, { ledger }: GenerationDeps): Promise<void> {
  const { status } = job.record;
  if (job.purpose !== "create" || (status !== "waiting" && status !== "failed")) return;
  const { fileName, replaces } = asked;
  job.record = (await ledger.apply(job.record, { kind: "named", fileName, replaces })) ?? job.record;
}
