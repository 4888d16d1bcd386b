/** Owns a caller's waiting for a task to end and its audio to be saved, whoever drives it; never creates. */
import type { TaskRecord } from "../ledger/record.ts";
import type { GenerationDeps } from "./deps.ts";
import type { Job, JobEnd } from "./job.ts";
import type { Jobs } from "./jobs.ts";
import { type Call, waitForJob } from "./wait-for-job.ts";

/** A job in the background leaves a task to the process that drives it, also when a caller has just joined. */
const MOST_STARTS = 3;

/**
 * Waits for the end of a task within the call's window.
 *
 * @returns the job that was last waited for, and its end: `null` when the window closed first
 */
export async function finishTask(
  deps: GenerationDeps,
  jobs: Jobs,
  record: TaskRecord,
  call: Call,
): Promise<{ job: Job; end: JobEnd | null }> {
  const endsAtMs = deps.clock.steadyMs() + call.windowMs;
  for (let starts = 1; ; starts += 1) {
    const { job } = jobs.start(record, "finish");
    const windowMs = Math.max(1, endsAtMs - deps.clock.steadyMs());
    const end = await waitForJob(job, { ...call, windowMs }, deps.clock);
    if (end?.kind !== "left" || starts === MOST_STARTS) return { job, end };
    call.signal.throwIfAborted();
  }
}
