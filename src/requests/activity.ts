/** Says in one sentence what is being done for a request now, and why it waits. */
import { quoteServiceText } from "../api/service-text.ts";
import type { HoldReason } from "../ledger/admission.ts";
import type { RequestRow } from "../ledger/schema.ts";
import { type Note, parseNote } from "./note.ts";
import type { LineHold } from "./submission-line.ts";

/** Who works on a request now. */
export interface Activity {
  /** `none`: nobody. `elsewhere`: another process. */
  readonly driver: "here" | "elsewhere" | "none";
  /** What holds the submissions of this process, if the request waits for one. */
  readonly hold: LineHold | null;
  /** How long a send of this process has been under way; `null` if none is. */
  readonly sendingMs: number | null;
  /** The wall clock, by which notes state their times. */
  readonly nowMs: number;
}

const STATUS_WORDS: Readonly<Record<RequestRow["status"], string>> = {
  waiting: "is waiting to be sent",
  unresolved: "was sent, and its answer is not known yet",
  queued: "is queued",
  processing: "is processing",
  succeeded: "has succeeded",
  saved: "has succeeded",
  failed: "has failed",
};

const formatSeconds = (ms: number): string => `${Math.max(1, Math.ceil(ms / 1000))} s`;

/** Where the remaining time is unknown, the elapsed time tells two successive answers apart. */
const HOLD_SENTENCES: Readonly<Record<HoldReason, (left: string, soFar: string) => string>> = {
  rate: (left) => `Waiting for a free submission slot (the service takes 6 a minute); about ${left} to go.`,
  concurrency: (_left, soFar) =>
    `Waiting for one of the account's two running tasks to end (${soFar} so far).`,
  cooldown: (left) => `The service asked for a pause; about ${left} to go.`,
};

/** The sentence for a limit of reads. */
export const describeReadHold = (reason: "rate" | "cooldown", leftMs: number): string =>
  reason === "rate"
    ? `The service cannot be asked for about ${formatSeconds(leftMs)}: its limit of 60 queries a minute is reached.`
    : `The service cannot be asked for about ${formatSeconds(leftMs)}: it asked for a pause.`;

/** The same words during a try and between tries, because a caller may ask at either time. */
const describeFailedDownload = ({ error }: Note): string =>
  `Fetching the audio has not worked yet (${error?.message ?? "no answer"}) It is tried again by itself.`;

export function describeUnknownStatus(task: string, statedStatus: string): string {
  const status =
    statedStatus === "" ? "a status that cannot be read" : `the status ${quoteServiceText(statedStatus)}`;
  return `The service gives ${task} ${status}, which its contract does not define; it is queried again for up to 65 min.`;
}

/** A send is called unanswered after this time, even if the request had waited before. */
export const UNANSWERED_AFTER_MS = 5000;

/** @param isSending whether it is being tried again right now */
function describeNote(note: Note, task: string, nowMs: number, isSending: boolean): string {
  const leftMs = (note.untilMs ?? nowMs) - nowMs;
  const when = isSending ? "again now" : `again in about ${formatSeconds(leftMs)}`;
  switch (note.kind) {
    case "unavailable":
      return `The service is unavailable (${formatSeconds(nowMs - note.sinceMs)} so far); trying ${when}.`;
    case "credits":
      return `The remaining credits are held by tasks that run (${formatSeconds(nowMs - note.sinceMs)} so far); it is tried again as soon as one of them ends.`;
    case "retrying":
    case "query":
      return `${note.error?.message ?? ""} Trying ${when} (${formatSeconds(nowMs - note.sinceMs)} so far).`;
    case "download":
      return describeFailedDownload(note);
    case "reads_rate":
      return describeReadHold("rate", leftMs);
    case "reads_cooldown":
      return describeReadHold("cooldown", leftMs);
    case "unknown_status":
      return describeUnknownStatus(task.replace(/^T/, "t"), note.status ?? "");
  }
}

/** Describes what is being done for an unfinished request; always one sentence. */
export function describeActivity(row: RequestRow, activity: Activity): string {
  const { driver, hold, sendingMs, nowMs } = activity;
  const task = row.task_id === null ? "The request" : `Task ${row.task_id}`;
  const note = parseNote(row);
  const isNoteCurrent = note !== null && (note.untilMs === null || note.untilMs > nowMs || hold === null);
  const isSending = sendingMs !== null;
  // The reason of the last failure stays while it is tried again, because a try may last as long as the pauses between.
  const isFailure = note?.kind === "unavailable" || note?.kind === "retrying";
  if (note !== null && (isSending ? isFailure : isNoteCurrent))
    return describeNote(note, task, nowMs, isSending);
  switch (row.status) {
    case "waiting":
    case "unresolved":
      if (driver === "elsewhere")
        return `Another client window is already working on this request: it ${STATUS_WORDS[row.status]}.`;
      if (isSending)
        return sendingMs < UNANSWERED_AFTER_MS
          ? "Sending the request to the service."
          : `The service has not answered the request yet (${formatSeconds(sendingMs)} so far).`;
      if (hold !== null)
        return HOLD_SENTENCES[hold.reason](formatSeconds(hold.leftMs), formatSeconds(hold.soFarMs));
      return "The request is about to be taken up.";
    case "queued":
    case "processing":
      return `${task} ${STATUS_WORDS[row.status]} (${formatSeconds(nowMs - (row.accepted_at_ms ?? nowMs))} so far).`;
    case "succeeded":
    case "saved":
      return `${task} has succeeded; downloading the audio.`;
    case "failed":
      return `${task} has failed.`;
  }
}

/** Describes what is being done, for a caller that stops waiting; `null` if the status of the task is enough. */
export function explainActivity(row: RequestRow, activity: Activity): string | null {
  const isWaiting = row.status === "waiting" || row.status === "unresolved";
  if (isWaiting) return activity.driver === "none" ? null : describeActivity(row, activity);
  return parseNote(row) === null ? null : describeActivity(row, activity);
}

/** A request with who works on it. */
export interface ActiveRequest {
  readonly row: RequestRow;
  readonly activity: Activity;
}

/** Why none of some requests gets on. */
export interface Standstill {
  readonly sentence: string;
  /** How long a limit still holds them; `null` if nobody knows when they get on. */
  readonly waitSeconds: number | null;
}

/** Says why none of some requests gets on; `null` while the service works on one, or if nothing holds them. */
export function explainStandstill(requests: readonly ActiveRequest[]): Standstill | null {
  const isHeld = ({ row, activity }: ActiveRequest): boolean =>
    parseNote(row) !== null || (activity.hold !== null && activity.hold.reason !== "concurrency");
  const [held] = requests.filter(isHeld);
  const getsOn = requests.some(({ row }) => row.task_id !== null && parseNote(row) === null);
  if (held === undefined || getsOn) return null;
  const sentence = describeActivity(held.row, { ...held.activity, sendingMs: null });
  const { hold } = held.activity;
  const isLimit = hold !== null && parseNote(held.row) === null;
  return { sentence, waitSeconds: isLimit ? Math.ceil(hold.leftMs / 1000) : null };
}
