/** One caller's waiting for a job: its window, progress, cancellation. */
import type { Clock } from "../../clock.ts";
import { Deadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import type { Job, JobEnd } from "./job.ts";

/** So many of so many. */
export interface Share {
  readonly done: number;
  readonly total: number;
}

/** One tool call, as the workflow sees it. */
export interface Call {
  /** Aborts when the client cancels. */
  readonly signal: AbortSignal;
  /** How long the call may take, in all, before it hands back what it knows; never scaled. 0: it does not wait for audio. */
  readonly windowMs: number;
  /** @param share how much of the whole is done, where that can be counted */
  readonly onProgress: (message: string, share?: Share) => void;
  /** Of a call that is answered as a task of the protocol's extension. */
  readonly handle?: CallHandle;
}

/** What a call with a handle does before its job begins. */
export interface CallHandle {
  /** Another process had begun it: an attempt that is found to have failed was its own. */
  readonly isResumed: boolean;
  /**
   * Opens the handle, where that is not open yet.
   *
   * @returns the record that the job is to begin with
   * @throws whatever ends the call: the handle has ended, or nothing may be made for it any more
   */
  enter(record: TaskRecord): Promise<TaskRecord>;
}

/** A call that does not wait for audio still waits so long for the service's answer. */
const ANSWER_WINDOW_MS = 10_000;

/** A call under way: everything that it waits for shares one deadline. */
export interface OpenCall extends Call {
  readonly deadline: Deadline;
}

export function openCall(call: Call, clock: Clock): OpenCall {
  return { ...call, deadline: new Deadline(clock, call.windowMs > 0 ? call.windowMs : ANSWER_WINDOW_MS) };
}

/**
 * Waits until the job ends, or until the call's time is over or `isEnough` says that it has learnt enough: `null`.
 *
 * @param isEnough looked at before the waiting and with each news of the job
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
  const hasHandle = call.handle !== undefined;
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
    timer.abort("settled");
    stopListening();
    job.detach(isCancelled, hasHandle);
  }
}

/** A hold that lasts longer is no reason to keep a call that does not wait for audio. */
const LONG_HOLD_MS = ANSWER_WINDOW_MS;

/** Whether a call that does not wait for audio has its answer: an id, or a hold that is going to outlast it. */
export function isAnswered(job: Job, clock: Pick<Clock, "steadyMs">): boolean {
  const { phase, record } = job;
  return record.taskId !== null || (phase.kind === "held" && phase.untilMs - clock.steadyMs() > LONG_HOLD_MS);
}

/** A send that has been without an answer for this long is silence, whatever the service said before. */
const SILENCE_MS = 5000;

/** The call's time is over before the service took the request: an error where it could not be reached. */
export function throwIfUnreachable({ record, phase }: Job, clock: Pick<Clock, "steadyMs">): void {
  if (record.taskId !== null) return;
  const ids = { idempotencyKey: record.idempotencyKey ?? undefined };
  const known = phase.kind === "sending" ? phase.before : phase;
  if (known.kind === "retrying") throw known.error.withIds(ids);
  if (phase.kind !== "sending") return;
  const isSilent = clock.steadyMs() - phase.sinceMs >= SILENCE_MS;
  if (phase.before.kind === "held" && !isSilent) return;
  throw new AudioError("timeout", "The service has not answered the request yet.", {
    retryable: true,
    ...ids,
  });
}
