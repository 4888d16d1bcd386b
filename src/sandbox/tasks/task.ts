/** A task as it is stored, and as a client sees it in each state (docs/contract.md, AudioTask and States). */
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { audioInputFields } from "../../contract/audio-input.ts";
import { type AudioTask, TASK_STATUSES } from "../../contract/audio-task.ts";
import { RESERVED_CREDITS } from "../../contract/billing.ts";
import { MODEL } from "../../contract/limits.ts";
import { GENERATIONS_PATH } from "../../contract/wire.ts";

/** One row of the tasks table. Which of the nullable fields are set is decided by the status. */
export const taskRecordSchema = z.object({
  id: z.string(),
  account_id: z.string(),
  idempotency_key: z.string(),
  input_json: z.string(),
  input_sha256: z.string(),
  status: z.enum(TASK_STATUSES),
  /** 1 when a fault control has decided that it will fail. */
  doomed: z.int(),
  created_ms: z.int(),
  charged_credits: z.int().nullable(),
  audio_seconds: z.number().nullable(),
  audio_bytes: z.int().nullable(),
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
});
export type TaskRecord = z.infer<typeof taskRecordSchema>;

/** What the sandbox reads back of an input; the row holds it with its defaults spelled out. */
const storedInput = z.object({
  prompt: audioInputFields.prompt,
  voice: audioInputFields.voice,
  output_format: audioInputFields.output_format.unwrap(),
  sample_rate: audioInputFields.sample_rate.unwrap(),
  speed: audioInputFields.speed.unwrap(),
  volume: audioInputFields.volume.unwrap(),
  pitch: audioInputFields.pitch.unwrap(),
});

/** The input that the task was created with. */
export function inputOf(record: TaskRecord): z.infer<typeof storedInput> {
  return storedInput.parse(JSON.parse(record.input_json));
}

/** 96 random bits: an id says nothing of other tasks and cannot be guessed. */
export function newTaskId(): string {
  return `aud_${randomBytes(12).toString("hex")}`;
}

/** The content address, which needs the key like any other (docs/contract.md, Download). */
function contentUrl(baseUrl: string, taskId: string): string {
  return `${baseUrl}${GENERATIONS_PATH}/${taskId}/content`;
}

function outputOf(record: TaskRecord, audioSeconds: number, baseUrl: string): AudioTask["output"] {
  const { output_format, sample_rate } = inputOf(record);
  return { url: contentUrl(baseUrl, record.id), format: output_format, sample_rate, duration: audioSeconds };
}

/**
 * The AudioTask of a record. `output`, `usage`, charge and refund are null until the task is terminal; a failed
 * task has no output and no usage, was charged 0 and refunded 150. (The contract does not state the nulls of
 * the states other than succeeded; these are the ones that say nothing untrue.)
 */
export function taskView(record: TaskRecord, baseUrl: string): AudioTask {
  const charged = record.charged_credits;
  return {
    id: record.id,
    object: "audio.generation",
    model: MODEL,
    status: record.status,
    billing: {
      reserved_credits: RESERVED_CREDITS,
      charged_credits: charged,
      refunded_credits: charged === null ? null : RESERVED_CREDITS - charged,
    },
    output: record.audio_seconds === null ? null : outputOf(record, record.audio_seconds, baseUrl),
    usage: record.audio_seconds === null ? null : { audio_seconds: record.audio_seconds },
    error:
      record.error_code === null ? null : { code: record.error_code, message: record.error_message ?? "" },
  };
}
