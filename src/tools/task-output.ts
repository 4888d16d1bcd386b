/** The one output shape that three tools share, and the words beside it (docs/design.md, Results). */
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { quoteServiceText, serviceReason } from "../api/service-text.ts";
import { MIME_TYPES } from "../contract/audio-format.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import type { TaskView } from "../generation/task-view.ts";
import type { AudioLink, ToolResult } from "./tool.ts";

const objectOrNull = z.record(z.string(), z.unknown()).nullable();

export const taskOutput = z.strictObject({
  task_id: z.string().nullable(),
  status: z.enum(["waiting", "queued", "processing", "succeeded", "failed"]),
  take: z.int().nullable(),
  idempotency_key: z.string().nullable(),
  replayed: z.boolean(),
  billing: objectOrNull,
  audio_seconds: z.number().nullable(),
  audio: objectOrNull,
  error: objectOrNull,
  next_step: z.string(),
});

const round = (seconds: number): number => Math.round(seconds * 1000) / 1000;

/** What to call next, complete in itself: a model may see nothing but this. */
export function nextStep(view: TaskView): string {
  switch (view.status) {
    case "waiting":
      return "Call generate_audio again with exactly the same arguments: it joins this request and does not pay twice. Do not change take.";
    case "queued":
    case "processing":
      return `Call get_task with task_id ${view.taskId} and wait_seconds 45. The audio is saved in the background all the same.`;
    case "succeeded":
      return view.audio === null
        ? `Call download_audio with task_id ${view.taskId}; downloading is free.`
        : "Tell the user the path.";
    case "failed":
      return "The reservation was returned. Call generate_audio again with the same arguments to try once more.";
  }
}

function cost(view: TaskView): string {
  if (view.billing === null) return "The service did not state the cost.";
  const { charged_credits: charged, refunded_credits: refunded } = view.billing;
  if (view.status === "failed") return `Cost 0 credits: the ${RESERVED_CREDITS} reserved were returned.`;
  if (charged === null) return `${RESERVED_CREDITS} credits are reserved until it ends.`;
  const earlier = view.replayed ? "Nothing new was charged; it had cost" : "Cost";
  return `${earlier} ${charged} credits (${refunded ?? 0} of ${RESERVED_CREDITS} returned).`;
}

function headline(view: TaskView): string {
  if (view.audio !== null) {
    const { path, format, sampleRateHz, durationSeconds } = view.audio;
    const length = durationSeconds === null ? "" : `, ${round(durationSeconds)} s`;
    return `Saved ${path} (${format}, ${sampleRateHz} Hz${length}). ${cost(view)}`;
  }
  if (view.status === "waiting") {
    return `Not accepted yet; nothing is lost. ${view.activity ?? "It was not sent."}`;
  }
  if (view.status === "failed") {
    // Judged once more: a record may be older than that judgement.
    const words = serviceReason(view.error?.message ?? "");
    const reason =
      words === "" ? "; the service gave no usable reason" : `. The service says: ${quoteServiceText(words)}`;
    return `Task ${view.taskId} failed${reason}. ${cost(view)}`;
  }
  const status = view.status === "succeeded" ? "has succeeded" : `is ${view.status}`;
  const activity = view.activity === null ? "" : ` ${view.activity}`;
  return `Task ${view.taskId} ${status}. ${cost(view)}${activity}`;
}

function audioOutput(view: TaskView): Record<string, unknown> | null {
  if (view.audio === null) return null;
  const { path, format, sampleRateHz, durationSeconds, sizeBytes, sha256 } = view.audio;
  return {
    path,
    uri: pathToFileURL(path).href,
    mime_type: MIME_TYPES[format],
    format,
    sample_rate: sampleRateHz,
    duration_seconds: durationSeconds,
    size_bytes: sizeBytes,
    sha256,
  };
}

function linkTo(view: TaskView): AudioLink | undefined {
  if (view.audio === null) return undefined;
  const { path, format, sizeBytes } = view.audio;
  return { uri: pathToFileURL(path).href, name: basename(path), mimeType: MIME_TYPES[format], sizeBytes };
}

/** A task as a tool result: every field present, one short text, a link when the audio is saved. */
export function renderTask(view: TaskView): ToolResult {
  const next = nextStep(view);
  const link = linkTo(view);
  return {
    structured: {
      task_id: view.taskId,
      status: view.status,
      take: view.take,
      idempotency_key: view.idempotencyKey,
      replayed: view.replayed,
      billing: view.billing,
      audio_seconds: view.audioSeconds,
      audio: audioOutput(view),
      error: view.error,
      next_step: next,
    },
    text: [headline(view), ...view.notes, `Next: ${next}`].join("\n"),
    ...(link === undefined ? {} : { link }),
  };
}
