/** Owns the running jobs of this process, one a record, and drives each from claim to saved file; answers no caller. */
import { AudioError } from "../errors.ts";
import type { TaskRecord } from "../ledger/record.ts";
import { nextAttempt } from "./attempts.ts";
import { createTask } from "./create-task.ts";
import type { GenerationDeps } from "./deps.ts";
import { goneError } from "./gone.ts";
import { Job, type JobEnd } from "./job.ts";
import { describeHold, STATUS_WORDS } from "./job-messages.ts";
import { Leases } from "./leases.ts";
import { countedCharge } from "./observe.ts";
import { RecordBook } from "./record-book.ts";
import { saveTask } from "./save-task.ts";
import { unsoundError } from "./saved-files.ts";
import { watchTask } from "./watch-task.ts";

/** What a job may do: `create` sends creates; `finish` only watches and saves what was accepted. */
export type JobPurpose = "create" | "finish";

export class Jobs {
  readonly leases: Leases;
  readonly book: RecordBook;
  readonly #deps: GenerationDeps;
  readonly #running = new Map<string, { job: Job; purpose: JobPurpose; done: Promise<void> }>();
  #onInFlightWait: () => void = () => undefined;

  constructor(deps: GenerationDeps) {
    this.#deps = deps;
    this.leases = new Leases(deps.store.coordinator, deps.holder, deps.timing.leaseTtlMs, deps.log);
    this.book = new RecordBook(deps.store, this.leases, deps.clock);
  }

  /** Told whenever tasks in flight hold a create back: their own processes may be dead, so somebody must look. */
  whenInFlightHoldsBack(listener: () => void): void {
    this.#onInFlightWait = listener;
  }

  running(recordId: string): Job | undefined {
    return this.#running.get(recordId)?.job;
  }

  /** The job of this record: the running one, or a new one. A finishing job that a create asks for is joined. */
  start(record: TaskRecord, purpose: JobPurpose): { job: Job; isNew: boolean } {
    const existing = this.#running.get(record.recordId);
    if (existing !== undefined) {
      if (purpose === "create") existing.purpose = "create";
      return { job: existing.job, isNew: false };
    }
    const job = new Job(record);
    const entry = { job, purpose, done: Promise.resolve() };
    this.#running.set(record.recordId, entry);
    entry.done = this.#drive(job, () => entry.purpose).then((end) => {
      this.#running.delete(record.recordId);
      job.finish(end);
    });
    return { job, isNew: true };
  }

  async #drive(job: Job, purpose: () => JobPurpose): Promise<JobEnd> {
    const lease = `task:${job.record.recordId}`;
    try {
      const isOurs = await this.#takeOrFollow(job, lease, purpose);
      if (!isOurs) return { kind: "left" };
      return await this.#run(job, purpose);
    } catch (error) {
      if (job.signal.aborted) return { kind: "left" };
      if (!(error instanceof AudioError)) this.#deps.log.error("a job failed unexpectedly", error);
      return { kind: "error", error: this.#explain(job, error) };
    } finally {
      await this.leases.release(lease);
    }
  }

  #explain(job: Job, error: unknown): AudioError {
    const known =
      error instanceof AudioError
        ? error
        : new AudioError("unexpected_response", "Something unexpected went wrong inside this server.", {
            retryable: true,
            cause: error,
          });
    return known.withIds({
      taskId: job.record.taskId ?? undefined,
      idempotencyKey: job.record.idempotencyKey ?? undefined,
    });
  }

  /**
   * One process drives a record; the others look into the ledger until it is done or its driver is gone.
   * A job that nobody waits for is not followed.
   */
  async #takeOrFollow(job: Job, lease: string, purpose: () => JobPurpose): Promise<boolean> {
    const { clock, timing } = this.#deps;
    let isFailureNews = false;
    while (!(await this.leases.take(lease))) {
      if (!job.hasCallers && purpose() === "finish") return false;
      await clock.sleep(timing.followMs, job.signal);
      const record = await this.book.get(job.record.recordId);
      if (record === undefined) continue;
      isFailureNews ||= record.status === "failed" && job.record.status !== "failed";
      if (record.status !== job.record.status) job.announce(`The task ${STATUS_WORDS[record.status]}`);
      job.record = record;
      job.hold = record.taskId === null ? { reason: "elsewhere", waitMs: timing.followMs } : null;
      if (record.status === "waiting" && job.hold !== null) job.announce(describeHold(job.hold));
      // The driver saves for its own place; ours may be another.
      if (record.status === "succeeded" || isFailureNews || record.isGone) break;
    }
    job.hold = null;
    job.failureIsNews = isFailureNews;
    // Its driver may be at the next attempt by now, which is not ours to drive: the lease is still its.
    if (isFailureNews) return true;
    const latest = await this.book.get(job.record.recordId);
    job.failureIsNews =
      latest?.status === "failed" && job.record.status !== "failed" && job.record.taskId !== null;
    if (latest !== undefined) job.record = latest;
    return true;
  }

  async #run(job: Job, purpose: () => JobPurpose): Promise<JobEnd> {
    const { record } = job;
    if (record.isGone) throw goneError(record);
    if (record.status === "failed") {
      if (job.failureIsNews || purpose() === "finish") return { kind: "failed", record };
      // The process that learnt of the failure may have died before it could say so.
      await this.#deps.limits.endTask(record.recordId, record.attempt, countedCharge(record));
      job.record = await this.book.update(record.recordId, (stored) => nextAttempt(stored, record.attempt));
    }
    if (job.record.status === "waiting" || job.record.status === "unresolved") {
      if (purpose() === "finish") return { kind: "left" };
      job.record = await this.book.add(job.record);
      await createTask(job, this.#deps, this.book, this.#onInFlightWait);
    }
    return this.#finishTask(job);
  }

  async #finishTask(job: Job): Promise<JobEnd> {
    const { clock, timing } = this.#deps;
    const giveUpAtMs = clock.steadyMs() + timing.recoveryMs;
    for (;;) {
      await watchTask(job, this.#deps, this.book);
      if (job.record.status === "failed") return { kind: "failed", record: job.record };
      try {
        const file = await saveTask(job, this.#deps, this.book, this.leases);
        if (!file.isSound) return { kind: "error", error: unsoundError(job.record, file) };
        return { kind: "saved", record: job.record, file };
      } catch (error) {
        const isTakenBack = error instanceof AudioError && error.code === "not_ready";
        if (!isTakenBack || clock.steadyMs() > giveUpAtMs) throw error;
        // The service said `succeeded` and then 409: its word at the content endpoint counts; ask again later.
        await clock.sleep(timing.pollIntervalMs, job.signal);
      }
    }
  }

  /** Stops every job where it stands; what was accepted stays in the ledger. */
  async close(): Promise<void> {
    const running = [...this.#running.values()];
    for (const { job } of running) job.stop();
    await Promise.all(running.map(({ done }) => done));
    await this.leases.close();
  }
}
