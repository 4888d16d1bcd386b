/** The running jobs of this process, one a record: each is driven from its claim to the saved file. */
import { AudioError, ownMistake } from "../../errors.ts";
import { isRefunded, type TaskRecord } from "../../ledger/record.ts";
import type { GenerationDeps } from "../deps.ts";
import { unsoundError } from "../saved-files.ts";
import { claimOrFollow } from "./claim-or-follow.ts";
import { createTask } from "./create-task.ts";
import { Job, type JobEnd, type JobPurpose, NotWantedError } from "./job.ts";
import { persist } from "./persist.ts";
import { saveTask } from "./save-task.ts";
import { watchTask } from "./watch-task.ts";

/** A create that was sent when the program is told to stop may be answered within this; its id is then kept. */
const LAST_ANSWER_MS = 1200;

/** New tasks that one call may make: the second is the free repeat of one that failed. */
const MOST_NEW_TASKS = 2;

interface Running {
  readonly job: Job;
  done: Promise<void>;
}

export class Jobs {
  readonly #deps: GenerationDeps;
  readonly #running = new Map<string, Running>();
  #onPlacesTaken: () => void = () => undefined;

  constructor(deps: GenerationDeps) {
    this.#deps = deps;
  }

  /** Told whenever tasks in flight hold a create back: their own processes may be dead, so somebody must look. */
  whenPlacesAreTaken(listener: () => void): void {
    this.#onPlacesTaken = listener;
  }

  running(recordId: string): Job | undefined {
    return this.#running.get(recordId)?.job;
  }

  /**
   * The job of this record: the running one, or a new one. A finishing job that a create asks for is joined.
   *
   * @param narrationId the narration that asks for it; `null`: a caller asks for it by itself
   * @param isFetchedAnew whether audio that is here is fetched all the same
   * @param mayWalk whether it begins another attempt where the answer to a create says that this one has failed
   */
  start(
    record: TaskRecord,
    purpose: JobPurpose,
    {
      narrationId = null,
      mayWalk = true,
      isFetchedAnew = false,
    }: { narrationId?: string | null; mayWalk?: boolean; isFetchedAnew?: boolean } = {},
  ): { job: Job; isNew: boolean } {
    const existing = this.#running.get(record.recordId);
    if (existing !== undefined) {
      if (purpose === "create") existing.job.purpose = "create";
      if (purpose === "create" && narrationId === null) existing.job.narrationId = null;
      existing.job.mayWalk ||= mayWalk;
      return { job: existing.job, isNew: false };
    }
    const job = new Job(record, purpose, this.#deps.clock);
    job.narrationId = narrationId;
    job.mayWalk = mayWalk;
    job.isFetchedAnew = isFetchedAnew;
    const entry: Running = { job, done: Promise.resolve() };
    this.#running.set(record.recordId, entry);
    entry.done = this.#drive(job).then((end) => {
      this.#running.delete(record.recordId);
      job.finish(end);
    });
    return { job, isNew: true };
  }

  async #drive(job: Job): Promise<JobEnd> {
    const { limits, ledger, log } = this.#deps;
    const lease = { isHeld: false };
    try {
      const lead = await claimOrFollow(job, this.#deps);
      if (lead.kind === "end") return lead.end;
      lease.isHeld = lead.kind === "ours";
      return await this.#run(job, lead.kind === "ours" ? lead.hadFailed : false, lease);
    } catch (error) {
      if (job.signal.aborted) return { kind: "left" };
      if (error instanceof NotWantedError) return { kind: "not_wanted" };
      if (!(error instanceof AudioError)) log.error("a job failed unexpectedly", error);
      return { kind: "error", error: explain(job, error) };
    } finally {
      limits.dropLease(job.record.recordId);
      const { recordId } = job.record;
      // It lapses by itself where it cannot be given back.
      if (lease.isHeld) {
        await ledger.store.release(recordId).catch((cause: unknown) => log.debug(String(cause)));
      }
    }
  }

  /** @param hadFailed an earlier call's attempt had failed: then this call makes one new task, and no second */
  async #run(job: Job, hadFailed: boolean, lease: { isHeld: boolean }): Promise<JobEnd> {
    const { clock, timing, limits } = this.#deps;
    for (let isSameCall = false; ; isSameCall = true) {
      if (job.record.status === "failed") {
        if (job.purpose === "finish") return { kind: "failed", record: job.record };
        const again = { kind: "again", failed: job.record.attempt, isSameCall } as const;
        job.record = await persist(job, this.#deps, again);
      }
      if (job.record.taskId === null) {
        if (job.purpose === "finish") return { kind: "left" };
        await createTask(job, this.#deps, this.#onPlacesTaken);
      }
      await watchTask(job, this.#deps);
      if (job.record.status === "failed") {
        limits.freed();
        // Only a failure that was refunded is tried again unasked.
        const isFree = isRefunded(job.record);
        const isWanted = job.purpose === "create" && job.isWanted;
        const mayRepeat =
          isFree && isWanted && job.newTasks > 0 && job.newTasks < MOST_NEW_TASKS && !hadFailed;
        if (!mayRepeat) return { kind: "failed", record: job.record };
        job.announce("The task failed and was refunded; trying once more.");
        continue;
      }
      limits.freed();
      const file = await saveTask(job, this.#deps, lease);
      if (file !== null) {
        if (!file.isSound) return { kind: "error", error: unsoundError(job.record, file) };
        return { kind: "saved", record: job.record, file };
      }
      // The service took `succeeded` back: it is asked again on the grid of polls, and may say something else.
      await clock.sleep(timing.pollIntervalMs, job.signal);
    }
  }

  /** Stops every job where it stands; a create under way gets a moment for its answer. What was accepted stays. */
  async close(): Promise<void> {
    const running = [...this.#running.values()];
    for (const { job } of running) job.stop();
    const all = Promise.all(running.map(({ done }) => done));
    const breakOff = setTimeout(() => {
      for (const { job } of running) job.breakOff();
    }, LAST_ANSWER_MS);
    await all;
    clearTimeout(breakOff);
  }
}

function explain(job: Job, error: unknown): AudioError {
  const known = error instanceof AudioError ? error : ownMistake(error);
  return known.withIds({
    taskId: job.record.taskId ?? undefined,
    idempotencyKey: job.record.idempotencyKey ?? undefined,
  });
}
