/** Waits for a job on behalf of one caller: deadline, progress and cancellation. */
import type { Clock } from "../../clock.ts";
import { Deadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import type { Job, JobEnd } from "./job.ts";

export interface ProgressCount {
  readonly done: number;
  readonly total: number;
}

/** One tool call. */
export interface Call {
  /** Aborts when the client cancels. */
  readonly signal: AbortSignal;
  /** Time in milliseconds within which the call must return; never scaled. 0: the call does not wait for audio. */
  readonly waitMs: number;
  /** @param count how many parts of a narration are done; absent for a single request */
  readonly onProgress: (message: string, count?: ProgressCount) => void;
  /** Set for a call that is answered as a task of the protocol's extension. */
  readonly beforeJob?: BeforeJob;
}

/** The first step of a call that has a call handle. It runs before the job of the call starts. */
export interface BeforeJob {
  /**
   * Whether this call resumes a call handle that was opened earlier. If so, a failed attempt was made for this call
   * handle, so the attempt is not repeated.
   */
  readonly isResumed: boolean;
  /**
   * Opens the call handle unless it is already open.
   *
   * @returns the record for the job to start with
   * @throws if the call handle has ended, or if nothing may be created for it any more
   */
  prepare(record: TaskRecord): Promise<TaskRecord>;
}

/** Maximum wait for the response to a create in a call that does not wait for audio. */
const ANSWER_WAIT_MS = 10_000;

/** A call in progress: all its waits share one deadline. */
export interface OpenCall extends Call {
  readonly deadline: Deadline;
}

export function openCall(call: Call, clock: Clock): OpenCall {
  return { ...call, deadline: new Deadline(clock, call.waitMs > 0 ? call.waitMs : ANSWER_WAIT_MS) };
}

/**
 * Waits until the job ends. Returns `null` if, before that, the call's time ends or `isEnough` returns true.
 *
 * @param isEnough checked at the start and on each message of the job
 * @throws the signal's reason when the client cancels
 */
export async function waitForJob(
  job: Job,
  call: OpenCall,
  isEnough: () => boolean = () => false,
): Promise<JobEnd | null> {
  const timer = new AbortController();
  const signal = AbortSignal.any([call.signal, timer.signal]);
  let stopListening = (): void => undefined;
  const enough = new Promise<null>((resolve) => {
    const check = (): void => {
      if (isEnough()) resolve(null);
    };
    stopListening = job.listen((message) => {
      call.onProgress(message);
      check();
    });
    check();
  });
  const hasHandle = call.beforeJob !== undefined;
  job.attach(hasHandle);
  let isCancelled = false;
  try {
    call.signal.throwIfAborted();
    const over = call.deadline.passed(signal).then(() => null);
    return await Promise.race([job.end, enough, over]);
  } catch (error) {
    isCancelled = call.signal.aborted;
    throw error;
  } finally {
    timer.abort("ended");
    stopListening();
    job.detach(isCancelled, hasHandle);
  }
}

/**
 * Maximum length of a hold during which a call that does not wait for audio stays open. During a longer hold, the call
 * returns.
 */
const LONG_HOLD_MS = ANSWER_WAIT_MS;

/** Whether a call that does not wait for audio can return: there is a task id, or a hold that outlasts the call. */
export function isAnswered(job: Job, clock: Pick<Clock, "steadyMs">): boolean {
  const { phase, record } = job;
  return record.taskId !== null || (phase.kind === "held" && phase.untilMs - clock.steadyMs() > LONG_HOLD_MS);
}

/**
 * Time without a response after which a send that followed a hold counts as unanswered. Any other send counts as
 * unanswered at once.
 */
const SILENCE_MS = 5000;

/** Throws if the service could not be reached before the call's time was over. */
export function throwIfUnreachable({ record, phase }: Job, clock: Pick<Clock, "steadyMs">): void {
  if (record.taskId !== null) return;
  const ids = { idempotencyKey: record.idempotencyKey ?? undefined };
  const lastPhase = phase.kind === "sending" ? phase.before : phase;
  if (lastPhase.kind === "retrying") throw lastPhase.error.withIds(ids);
  if (phase.kind !== "sending") return;
  const isSilent = clock.steadyMs() - phase.sinceMs >= SILENCE_MS;
  if (phase.before.kind === "held" && !isSilent) return;
  throw new AudioError("timeout", "The service has not answered the request yet.", {
    retryable: true,
    ...ids,
  });
}
