/**
 * Renders the output that three tools share, as fields and as text. Each form is complete on its own
 * (docs/reference.md, Results).
 */
import { z } from "zod";
import { sanitizeReason } from "../api/service-text.ts";
import { MIME_TYPES } from "../contract/audio-format.ts";
import { TASK_STATUSES } from "../contract/audio-task.ts";
import { wordFor } from "../errors.ts";
import type { RequestView } from "../requests/request-view.ts";
import { describeRequestNextStep, getTaskIdOrRequestHandle, TELL_THE_PATH } from "./request-next-step.ts";
import { describeTask, getAudioSeconds, renderText } from "./task-messages.ts";
import { type ToolResult, USUAL_WAIT_SECONDS } from "./tool.ts";

const facts = z.record(z.string(), z.unknown());

export const taskOutput = z
  .strictObject({
    task_id: z.string(),
    status: z.enum(["waiting", ...TASK_STATUSES]),
    message: z.string(),
    take: z.int().optional(),
    voice: z.string().optional(),
    audio_references: z.int().optional(),
    replayed: z.boolean(),
    billing: facts.optional(),
    audio_seconds: z.number().optional(),
    audio: facts.optional(),
    error: facts.optional(),
    idempotency_key: z.string().optional(),
    next_step: z.string(),
  })
  .meta({ description: "Unknown and empty fields are left out" });

/** Removes fields that are `null` or `undefined`, because some clients fail on `null`. */
export function omitNullish<T extends Record<string, unknown>>(
  fields: T,
): { [Key in keyof T]?: NonNullable<T[Key]> };
export function omitNullish(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  );
}

function buildAudioOutput({ audio }: RequestView, isFull: boolean): Record<string, unknown> | null {
  if (audio === null) return null;
  const { path, format, sampleRateHz, sizeBytes, sha256 } = audio;
  return {
    path,
    mime_type: MIME_TYPES[format],
    format,
    sample_rate: sampleRateHz,
    size_bytes: sizeBytes,
    ...(isFull ? { sha256 } : {}),
  };
}

/** Omits the service's message if {@link sanitizeReason} withholds it. */
function buildErrorOutput({ error }: RequestView): Record<string, unknown> | null {
  if (error === null) return null;
  const reason = sanitizeReason(error.message);
  return { code: error.code, ...(reason === "" ? {} : { message: reason }) };
}

export interface RenderOptions {
  /** Whether to add fields that are rarely needed: the idempotency key and the hash of the file. */
  readonly isFull?: boolean;
  /**
   * Returns true only for the first result of the process that contains a saved file. The text of this result asks the
   * assistant to tell the user the path.
   */
  readonly takeFirstSuccess: () => boolean;
  /** The wait that the next step names. */
  readonly waitSeconds?: number;
}

/** Renders a task as a tool result: fields, a short text, and a link if the audio is saved. */
export function renderTask(
  view: RequestView,
  { isFull = false, takeFirstSuccess, waitSeconds = USUAL_WAIT_SECONDS }: RenderOptions,
): ToolResult {
  const next = wordFor(describeRequestNextStep(view, waitSeconds), "assistant");
  const saysNext = next !== TELL_THE_PATH || takeFirstSuccess();
  const { audio } = view;
  return {
    structured: omitNullish({
      task_id: getTaskIdOrRequestHandle(view),
      status: view.status === "unresolved" ? "waiting" : view.status,
      message: describeTask(view),
      take: view.take,
      voice: view.voice,
      audio_references: view.referenceCount === 0 ? null : view.referenceCount,
      replayed: view.replayed,
      billing: view.billing === null ? null : omitNullish(view.billing),
      audio_seconds: getAudioSeconds(view),
      audio: buildAudioOutput(view, isFull),
      error: buildErrorOutput(view),
      idempotency_key: isFull ? view.idempotencyKey : null,
      next_step: next,
    }),
    text: renderText(view, saysNext ? next : null),
    ...(audio !== null && {
      link: { path: audio.path, mimeType: MIME_TYPES[audio.format], sizeBytes: audio.sizeBytes },
    }),
  };
}
