/** The phases of a job, and the sentences that describe them. */
import { quoteServiceText } from "../../api/service-text.ts";
import type { Clock } from "../../clock.ts";
import type { AudioError } from "../../errors.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import type { AdmissionWaitReason } from "../../ledger/rules/admission.ts";
import type { ReadWaitReason } from "../../limits/read-queue.ts";

/** `untilMs` and `sinceMs` are times of the steady clock. */
export type Phase =
  /** The lease of the record is not acquired yet. */
  | { readonly kind: "starting" }
  /** Another process drives the record, and this process follows the record. */
  | { readonly kind: "following" }
  /** The job waits until it may ask the service. {@link withHoldStart} sets `sinceMs`, the start of this wait. */
  | {
      readonly kind: "held";
      readonly reason: HoldReason;
      readonly untilMs: number;
      readonly sinceMs?: number;
    }
  /** A submission is being sent. `previousPhase`: the phase before the send. */
  | { readonly kind: "sending"; readonly sinceMs: number; readonly previousPhase: Phase }
  /** An error occurred, and the step is retried. */
  | { readonly kind: "retrying"; readonly error: AudioError; readonly untilMs: number }
  /**
   * The task is being polled. `unknownStatus`: a status of the service that this program does not know; `""` if its
   * text cannot be shown.
   */
  | { readonly kind: "watching"; readonly sinceMs: number; readonly unknownStatus?: string | undefined }
  /** The audio is being downloaded. `lastError`: the error of the previous try. */
  | { readonly kind: "saving"; readonly lastError: AudioError | null };

/** Reasons that begin with `reads_` delay a query or a download, and not a submission. */
export type HoldReason = AdmissionWaitReason | "unavailable" | "credits" | `reads_${ReadWaitReason}`;

/**
 * The sentence for each reason. Where the remaining time is unknown, the sentence gives the elapsed time, so that two
 * successive answers differ.
 */
const SENTENCE_BY_HOLD_REASON: Readonly<Record<HoldReason, (left: string, soFar: string) => string>> = {
  rate: (left) => `Waiting for a free submission slot (the service takes 6 a minute); about ${left} to go.`,
  concurrency: (_left, soFar) => `Waiting for one of the account's two running tasks to end${soFar}.`,
  cooldown: (left) => `The service asked for a pause; about ${left} to go.`,
  unavailable: (left) => `The service is unavailable; trying again in about ${left}.`,
  credits: (_left, soFar) =>
    `The remaining credits are held by tasks that run${soFar}; it is tried again as soon as one of them ends.`,
  reads_rate: (left) =>
    `The service cannot be asked for about ${left}: its limit of 60 queries a minute is reached.`,
  reads_cooldown: (left) => `The service cannot be asked for about ${left}: it asked for a pause.`,
};

const STATUS_WORDS: Readonly<Record<RequestRecord["status"], string>> = {
  waiting: "is waiting to be sent",
  unresolved: "was sent, and its answer is not known yet",
  queued: "is queued",
  processing: "is processing",
  succeeded: "has succeeded",
  failed: "has failed",
};

const formatSeconds = (ms: number): string => `${Math.max(1, Math.ceil(ms / 1000))} s`;

/**
 * Describes a hold in one sentence.
 *
 * @param leftMs time until the next try
 * @param lastedMs time since the hold began
 */
export const describeHold = (reason: HoldReason, leftMs: number, lastedMs?: number): string =>
  SENTENCE_BY_HOLD_REASON[reason](
    formatSeconds(leftMs),
    lastedMs === undefined ? "" : ` (${formatSeconds(lastedMs)} so far)`,
  );

/**
 * Sets the start time of a hold. If the job was already held for the same reason, keeps the earlier start time, even if
 * the job sent a submission in between.
 */
export function withHoldStart(phase: Phase, before: Phase, nowMs: number): Phase {
  if (phase.kind !== "held") return phase;
  const lastPhase = before.kind === "sending" ? before.previousPhase : before;
  const isSame = lastPhase.kind === "held" && lastPhase.reason === phase.reason;
  return { ...phase, sinceMs: (isSame ? lastPhase.sinceMs : undefined) ?? nowMs };
}

/**
 * Describes a failed download. Uses the same words during a try and between tries, because a caller may ask at either
 * time.
 */
const describeFailedDownload = ({ message }: AudioError): string =>
  `Fetching the audio has not worked yet (${message}) It is tried again by itself.`;

function describeUnknownStatus(task: string, statedStatus: string): string {
  const status =
    statedStatus === "" ? "a status that cannot be read" : `the status ${quoteServiceText(statedStatus)}`;
  return `The service gives ${task} ${status}, which its contract does not define; it is queried again for up to 65 min.`;
}

/** Describes in one sentence what is happening with a record now. */
export function describePhase(
  phase: Phase,
  record: Pick<RequestRecord, "taskId" | "status">,
  clock: Pick<Clock, "steadyMs">,
): string {
  const task = record.taskId === null ? "The request" : `Task ${record.taskId}`;
  switch (phase.kind) {
    case "starting":
      return "The request is about to be taken up.";
    case "following":
      return `Another client window is already working on this request: it ${STATUS_WORDS[record.status]}.`;
    case "held":
      return describeHold(
        phase.reason,
        phase.untilMs - clock.steadyMs(),
        phase.sinceMs === undefined ? undefined : clock.steadyMs() - phase.sinceMs,
      );
    case "sending":
      return "Sending the request to the service.";
    case "retrying":
      return record.status === "succeeded"
        ? describeFailedDownload(phase.error)
        : `${phase.error.message} Trying again in about ${formatSeconds(phase.untilMs - clock.steadyMs())}.`;
    case "watching":
      if (phase.unknownStatus !== undefined) return describeUnknownStatus(task, phase.unknownStatus);
      return `${task} ${STATUS_WORDS[record.status]} (${formatSeconds(clock.steadyMs() - phase.sinceMs)} so far).`;
    case "saving":
      return phase.lastError === null
        ? `${task} has succeeded; downloading the audio.`
        : describeFailedDownload(phase.lastError);
  }
}
