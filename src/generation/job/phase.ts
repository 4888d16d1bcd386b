/** What a job is doing, as one union, and every sentence that is made of it. */
import { quoteServiceText } from "../../api/service-text.ts";
import type { Clock } from "../../clock.ts";
import type { AudioError } from "../../errors.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import type { ReadWaitReason, WaitReason } from "../../limits/limits.ts";

/** `untilMs` and `sinceMs` are on the steady clock. */
export type Phase =
  /** Its record has not been claimed yet. */
  | { readonly kind: "starting" }
  /** Another process drives the record; we look at what it does. */
  | { readonly kind: "following" }
  /** The service may not be asked yet. `sinceMs`: known of a hold that a job is in. */
  | {
      readonly kind: "held";
      readonly reason: HoldReason;
      readonly untilMs: number;
      readonly sinceMs?: number;
    }
  /** `before`: what was known of the service when the send began. */
  | { readonly kind: "sending"; readonly sinceMs: number; readonly before: Phase }
  /** Something went wrong, and is tried again. */
  | { readonly kind: "retrying"; readonly error: AudioError; readonly untilMs: number }
  /** `unknownStatus`: what the service said in place of a status, `""` where that is withheld. */
  | { readonly kind: "watching"; readonly sinceMs: number; readonly unknownStatus?: string | undefined }
  /** `trouble`: why an earlier try did not work. */
  | { readonly kind: "saving"; readonly trouble: AudioError | null };

/** `reads_…`: a query or a download has to wait, not the create. */
export type HoldReason = WaitReason | "unavailable" | "credits" | `reads_${ReadWaitReason}`;

/** Where nobody can say how long it lasts, how long it has lasted tells a second answer from the first. */
const SENTENCES: Readonly<Record<HoldReason, (left: string, soFar: string) => string>> = {
  rate: (left) => `Waiting for a free create slot (the service takes 6 a minute); about ${left} to go.`,
  in_flight: (_left, soFar) => `Waiting for one of the account's two running tasks to end${soFar}.`,
  paused: (left) => `The service asked for a pause; about ${left} to go.`,
  unavailable: (left) => `The service is unavailable; trying again in about ${left}.`,
  credits: (_left, soFar) =>
    `The credits that are left are held by tasks that run${soFar}; it is tried again as soon as one of them ends.`,
  reads_rate: (left) =>
    `The service cannot be asked for about ${left}: the 60 questions a minute that it answers are used up.`,
  reads_paused: (left) => `The service cannot be asked for about ${left}: it asked for a pause.`,
};

const STATUS_WORDS: Readonly<Record<TaskRecord["status"], string>> = {
  waiting: "is waiting to be sent",
  unresolved: "was sent, and its answer is not known yet",
  queued: "is queued",
  processing: "is processing",
  succeeded: "has succeeded",
  failed: "has failed",
};

const seconds = (ms: number): string => `${Math.max(1, Math.ceil(ms / 1000))} s`;

/**
 * @param leftMs until it is tried again
 * @param lastedMs since it began
 */
export const describeHold = (reason: HoldReason, leftMs: number, lastedMs?: number): string =>
  SENTENCES[reason](seconds(leftMs), lastedMs === undefined ? "" : ` (${seconds(lastedMs)} so far)`);

/** A hold goes on when its reason is the same as before the last send, too. */
export function continued(phase: Phase, before: Phase, nowMs: number): Phase {
  if (phase.kind !== "held") return phase;
  const known = before.kind === "sending" ? before.before : before;
  const isSame = known.kind === "held" && known.reason === phase.reason;
  return { ...phase, sinceMs: (isSame ? known.sinceMs : undefined) ?? nowMs };
}

/** The same words while it is tried and between two tries: whoever asks meets either by chance. */
const notFetched = ({ message }: AudioError): string =>
  `Fetching the audio has not worked yet (${message}) It is tried again by itself.`;

function unknownStatusWords(task: string, said: string): string {
  const status = said === "" ? "a status that cannot be read" : `the status ${quoteServiceText(said)}`;
  return `The service gives ${task} ${status}, which is none of its contract; it is asked again for up to 65 min.`;
}

/** One sentence for a person or an assistant: what is going on with this record now. */
export function describe(
  phase: Phase,
  record: Pick<TaskRecord, "taskId" | "status">,
  clock: Pick<Clock, "steadyMs">,
): string {
  const task = record.taskId === null ? "The request" : `Task ${record.taskId}`;
  switch (phase.kind) {
    case "starting":
      return "The request is about to be taken up.";
    case "following":
      return `Another window is already working on this request: it ${STATUS_WORDS[record.status]}.`;
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
        ? notFetched(phase.error)
        : `${phase.error.message} Trying again in about ${seconds(phase.untilMs - clock.steadyMs())}.`;
    case "watching":
      if (phase.unknownStatus !== undefined) return unknownStatusWords(task, phase.unknownStatus);
      return `${task} ${STATUS_WORDS[record.status]} (${seconds(clock.steadyMs() - phase.sinceMs)} so far).`;
    case "saving":
      return phase.trouble === null
        ? `${task} has succeeded; downloading the audio.`
        : notFetched(phase.trouble);
  }
}
