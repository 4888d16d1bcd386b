/** The sentences of a task's result: what happened and what it cost. */
import { quoteServiceText, sanitizeReason } from "../api/service-text.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { roundToMilliseconds } from "../contract/numbers.ts";
import { wordFor } from "../errors.ts";
import type { RequestView, SavedAudio } from "../requests/request-view.ts";
import { getTaskIdOrRequestHandle } from "./request-next-step.ts";

/**
 * Returns the length to report: the charged seconds, or the duration of the file if the charged seconds are unknown.
 */
export function getAudioSeconds(view: RequestView): number | null {
  const seconds = view.audioSeconds ?? view.audio?.durationSeconds ?? null;
  return seconds === null ? null : roundToMilliseconds(seconds);
}

/** Describes the cost. A failed task costs nothing, unless the service breaks its own rules and charges it. */
export function describeCost(view: RequestView): string {
  if (view.billing === null) return "The service did not state the cost.";
  if (view.status === "failed" && (view.billing.charged_credits ?? 0) === 0) {
    return `Cost 0 credits: the ${RESERVED_CREDITS} reserved were returned.`;
  }
  const { charged_credits: charged, refunded_credits: refunded } = view.billing;
  if (charged === null) return `${RESERVED_CREDITS} credits are reserved until it ends.`;
  if (!view.isChargeNews) return `Nothing new was charged; it had cost ${charged} credits.`;
  if (charged > RESERVED_CREDITS || (refunded ?? 0) > RESERVED_CREDITS)
    return `Cost ${charged} credits, as the service states it, against its own rules.`;
  return `Cost ${charged} credits (${refunded ?? 0} of ${RESERVED_CREDITS} returned).`;
}

function describeWaiting(view: RequestView): string {
  const isUnresolved = view.status === "unresolved";
  const money = isUnresolved
    ? ` ${RESERVED_CREDITS} credits may be reserved for it.`
    : " Nothing is reserved yet.";
  if (view.activity !== null) {
    return `Not accepted by the service yet. ${view.activity} The server goes on by itself and saves the file.${money}`;
  }
  if (isUnresolved) return `Sent, but not known to be accepted; nothing is working on it now.${money}`;
  return `Never sent; nothing is working on it now.${money}`;
}

function describeFailed(view: RequestView): string {
  // Check the stored reason again, because an earlier version of the server may have stored it unchecked.
  const statedReason = sanitizeReason(view.error?.message ?? "");
  const reason =
    statedReason === ""
      ? "; the service gave no usable reason"
      : `. The service says: ${quoteServiceText(statedReason)}`;
  return `The task failed${reason}. ${describeCost(view)}`;
}

function describeSaved(view: RequestView, audio: SavedAudio, path: string): string {
  const { format, sampleRateHz } = audio;
  const seconds = getAudioSeconds(view);
  const facts = [
    format,
    `${sampleRateHz} Hz`,
    ...(seconds === null ? [] : [`${seconds} s`]),
    ...(view.voice === null ? [] : [`voice: ${view.voice}`]),
    ...(view.referenceCount === 0
      ? []
      : [`with ${view.referenceCount} audio reference${view.referenceCount === 1 ? "" : "s"}`]),
    ...(view.take === null || view.take === 1 ? [] : [`take ${view.take}`]),
  ];
  return `Saved${path} (${facts.join(", ")}). ${describeCost(view)}`;
}

function describeStatus(view: RequestView, path: string): string {
  if (view.audio !== null) return describeSaved(view, view.audio, path);
  if (view.status === "waiting" || view.status === "unresolved") return describeWaiting(view);
  if (view.status === "failed") return describeFailed(view);
  const activity = view.activity === null ? "" : ` ${view.activity}`;
  if (view.status === "succeeded") {
    return `The task has succeeded; its audio is not saved here. ${describeCost(view)}${activity}`;
  }
  const savingNote = view.requestHandle === null ? "" : " The server saves the file by itself.";
  const voice = view.voice === null ? "" : ` (voice: ${view.voice})`;
  return `The task is ${view.status}${voice}. ${describeCost(view)}${activity}${savingNote}`;
}

const wordNotes = ({ notes }: RequestView): string[] => notes.map((note) => wordFor(note, "assistant"));

/** Returns the message of the structured form, which omits everything that has a field of its own. */
export function describeTask(view: RequestView): string {
  const head = view.audio === null ? describeStatus(view, "") : `Saved. ${describeCost(view)}`;
  return [head, ...wordNotes(view)].join(" ");
}

/** Returns the text form. It is complete, because some clients show nothing else. */
export function renderText(view: RequestView, next: string | null): string {
  const path = view.audio === null ? "" : ` ${view.audio.path}`;
  const lines = [
    `${describeStatus(view, path)} task_id ${getTaskIdOrRequestHandle(view)}`,
    ...wordNotes(view),
  ];
  return [...lines, ...(next === null ? [] : [`Next: ${next}`])].join("\n");
}
