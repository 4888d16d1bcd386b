/** Owns getting a task id for a claimed record: admission, the create, its repeats (design 6.4 to 6.6); never watches or saves. */

import { decideCreate, wasNeverSent } from "../api/retry.ts";
import type { ObservedTask } from "../api/service.ts";
import { AudioError } from "../errors.ts";
import type { CreateSlot } from "../limits/limits.ts";
import { nextAttempt } from "./attempts.ts";
import type { GenerationDeps } from "./deps.ts";
import type { Job } from "./job.ts";
import { describeHold } from "./job-messages.ts";
import { countedCharge, observe } from "./observe.ts";
import type { RecordBook } from "./record-book.ts";

/** A lost ledger can hide many failed attempts; nobody has this many. */
const MOST_ATTEMPTS = 1000;

const toAudioError = (error: unknown): AudioError =>
  error instanceof AudioError
    ? error
    : new AudioError("network_error", "The request to the service failed.", {
        retryable: true,
        cause: error,
      });

/** A 404 to a create is about the address: there is no task yet that could be unknown. */
const noSuchService = (error: AudioError): AudioError =>
  new AudioError("not_found", error.message, {
    httpStatus: error.httpStatus,
    idempotencyKey: error.idempotencyKey,
    remedy:
      "Ask the user to check that AUDIO_BASE_URL is the service's address (without any path that is not part of it). Nothing was charged.",
  });

/** One record on its way to a task id. */
class Creation {
  readonly #job: Job;
  readonly #deps: GenerationDeps;
  readonly #book: RecordBook;
  readonly #onInFlightWait: () => void;
  /** An earlier send of this attempt may have reached the service: its slot and reservation must stay. */
  #mayHaveArrived: boolean;
  #tries = 0;

  constructor(job: Job, deps: GenerationDeps, book: RecordBook, onInFlightWait: () => void) {
    this.#job = job;
    this.#deps = deps;
    this.#book = book;
    this.#onInFlightWait = onInFlightWait;
    this.#mayHaveArrived = job.record.status === "unresolved";
  }

  async run(): Promise<void> {
    const giveUpAtMs = this.#deps.clock.steadyMs() + this.#deps.timing.recoveryMs;
    while (this.#deps.clock.steadyMs() < giveUpAtMs && this.#job.record.attempt <= MOST_ATTEMPTS) {
      const slot = await this.#admit(giveUpAtMs);
      if (slot === null) break;
      const task = await this.#send(slot);
      if (task === null) continue;
      if (task.status !== "failed") return;
      await this.#walkPast(task);
    }
    throw (
      this.#job.lastError ??
      new AudioError("wait_expired", "The service did not take the request within the recovery window.", {
        retryable: true,
        idempotencyKey: this.#job.record.idempotencyKey ?? undefined,
      })
    );
  }

  /** `null`: no slot became free in time. */
  async #admit(giveUpAtMs: number): Promise<CreateSlot | null> {
    const { clock } = this.#deps;
    const { signal } = this.#job;
    const expiry = new AbortController();
    const settled = new AbortController();
    clock.sleep(giveUpAtMs - clock.steadyMs(), settled.signal).then(
      () => expiry.abort(),
      () => undefined,
    );
    try {
      return await this.#takeSlot(AbortSignal.any([signal, expiry.signal]));
    } catch (error) {
      if (expiry.signal.aborted && !signal.aborted) return null;
      throw error;
    } finally {
      settled.abort();
    }
  }

  async #takeSlot(signal: AbortSignal): Promise<CreateSlot> {
    const job = this.#job;
    const slot = await this.#deps.limits.admitCreate({
      recordId: job.record.recordId,
      attempt: job.record.attempt,
      signal,
      onWaiting: (reason, waitMs) => {
        job.hold = { reason, waitMs };
        job.announce(describeHold(job.hold));
        if (reason === "in_flight") this.#onInFlightWait();
      },
    });
    // The hold stays until this send is answered: it is the last that is known of the service.
    return slot;
  }

  /** Sends once. `null`: not accepted this time, and whatever had to be waited for has been. */
  async #send(slot: CreateSlot): Promise<ObservedTask | null> {
    const { input, idempotencyKey: key, recordId, attempt } = this.#job.record;
    if (input === null || key === null) {
      await slot.settle("unsent");
      throw new AudioError("not_found", "This record holds no request that could be sent.");
    }
    this.#tries += 1;
    this.#job.isCommitted = true;
    try {
      // Before the send: a crash from here on must find an attempt whose answer is unknown.
      this.#job.record = await this.#book.update(recordId, (record) => ({
        ...record,
        status: "unresolved",
        sentAtMs: this.#deps.clock.wallMs(),
      }));
    } catch (error) {
      await slot.settle(this.#mayHaveArrived ? "unanswered" : "unsent");
      throw error;
    }
    this.#job.sentAtSteadyMs = this.#deps.clock.steadyMs();
    this.#job.announce("Sending the request to the service");
    let task: ObservedTask;
    try {
      task = await this.#deps.service.create(input, key, this.#job.signal);
    } catch (error) {
      this.#job.sentAtSteadyMs = null;
      if (this.#job.signal.aborted) {
        await slot.settle("unanswered");
        throw error;
      }
      await this.#recover(slot, toAudioError(error));
      return null;
    }
    this.#job.sentAtSteadyMs = null;
    await this.#accept(slot, task, attempt);
    return this.#job.record.attempt === attempt ? task : null;
  }

  /** Says nothing of a record that is at another attempt by now: the answer is not about that one. */
  async #accept(slot: CreateSlot, task: ObservedTask, attempt: number): Promise<void> {
    const nowMs = this.#deps.clock.wallMs();
    try {
      // The task id first, before anything else happens (design 1, promise 2).
      this.#job.record = await this.#book.update(this.#job.record.recordId, (record) =>
        record.attempt === attempt ? { ...observe(record, task, nowMs), acceptedAtMs: nowMs } : record,
      );
    } catch (error) {
      // The repeat of the call finds the task by its key; until then its slot stays.
      await slot.settle("unanswered");
      throw error instanceof AudioError ? error.withIds({ taskId: task.taskId }) : error;
    }
    this.#job.lastError = null;
    this.#job.hold = null;
    this.#mayHaveArrived = false;
    await slot.settle("accepted");
    for (const oddity of task.oddities) this.#deps.log.warn(`task ${task.taskId}: ${oddity}`);
    if (task.status === "queued" || task.status === "processing") {
      this.#job.hasCreated = true;
      this.#job.announce(`Accepted as task ${task.taskId}; 150 credits are reserved`);
    }
  }

  /** The answer replayed a task that had failed before: refunded, so this call makes a new attempt. */
  async #walkPast(task: ObservedTask): Promise<void> {
    const { recordId, attempt } = this.#job.record;
    await this.#deps.limits.endTask(recordId, attempt, countedCharge(task));
    this.#job.record = await this.#book.update(recordId, (record) => nextAttempt(record, attempt));
    this.#job.announce("An earlier attempt had failed and was refunded; trying again");
  }

  async #recover(slot: CreateSlot, error: AudioError): Promise<void> {
    const known = error.withIds({ idempotencyKey: this.#job.record.idempotencyKey ?? undefined });
    const decision = decideCreate(known, this.#tries, this.#deps.random);
    const isAnswered = decision.kind === "limited" || decision.kind === "unavailable";
    const isUnsent = wasNeverSent(error);
    if (decision.kind === "retry" && !isUnsent) this.#mayHaveArrived = true;
    await slot.settle(this.#mayHaveArrived ? "unanswered" : isUnsent ? "unsent" : "refused");
    if (decision.kind === "stop") {
      await this.#giveUp(known);
      throw known.code === "not_found" ? noSuchService(known) : known;
    }
    if (!this.#mayHaveArrived) {
      await this.#markUnsent();
      this.#job.uncommit();
      this.#job.signal.throwIfAborted();
    }
    if (decision.kind === "limited") {
      const waitMs = decision.retryAfterSeconds * 1000 * this.#deps.timing.scale;
      this.#job.hold = { reason: "paused", waitMs };
      this.#job.lastError = null;
      await this.#deps.limits.pause("creates", decision.retryAfterSeconds);
      return;
    }
    const delayMs = decision.delayMs * this.#deps.timing.scale;
    this.#job.hold = isAnswered ? { reason: "unavailable", waitMs: delayMs } : null;
    this.#job.lastError = isAnswered ? null : known;
    this.#job.announce(
      isAnswered
        ? "The service is unavailable; trying again"
        : `${known.message} Trying again with the same key`,
    );
    await this.#deps.clock.sleep(delayMs, this.#job.signal);
  }

  async #markUnsent(): Promise<void> {
    this.#job.record = await this.#book.update(this.#job.record.recordId, (record) => ({
      ...record,
      status: "waiting",
      sentAtMs: null,
    }));
  }

  /** A refusal means that there is no task, unless an earlier send may have made one. */
  async #giveUp(error: AudioError): Promise<void> {
    if (this.#mayHaveArrived) return;
    // A later attempt stays known, so that the next call need not walk past the failed ones again.
    if (this.#job.record.attempt > 1) await this.#markUnsent();
    else await this.#book.remove(this.#job.record.recordId);
    this.#deps.log.info(`the service refused a create: ${error.code}`);
  }
}

/**
 * Brings a claimed record to an accepted task, waiting for slots and repeating with the same key as needed.
 *
 * @param onInFlightWait told when tasks in flight hold the create back, so that orphaned ones get watched
 * @throws AudioError the service's refusal, `budget_exceeded`, `store_unavailable`, or the last failure when the recovery window ends
 */
export async function createTask(
  job: Job,
  deps: GenerationDeps,
  book: RecordBook,
  onInFlightWait: () => void,
): Promise<void> {
  await new Creation(job, deps, book, onInFlightWait).run();
}
