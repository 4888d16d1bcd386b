/** Reads what a request's row says of its text, voice and format. */
import { z } from "zod";
import { OUTPUT_FORMATS, type OutputFormat, SAMPLE_RATES } from "../contract/audio-format.ts";
import { deriveIdempotencyKey } from "../ledger/identity.ts";
import type { RequestRow } from "../ledger/schema.ts";
import { parseJson } from "../parse-json.ts";

function describeVoiceSource(hasReferences: boolean, hasImage: boolean): string {
  if (hasImage) return "from image_url";
  return hasReferences ? "from audio_references" : "the service's default";
}

/**
 * Parses a stored body leniently. It was valid when it was sent, so a retired voice or an unknown field must not
 * prevent the audio from being saved or the request from being listed.
 */
const storedInputSchema = z
  .object({
    prompt: z.string().catch(""),
    voice: z.string().nullable().catch(null),
    audio_references: z.array(z.unknown()).catch([]),
    image_url: z.string().nullable().catch(null),
    output_format: z.enum(OUTPUT_FORMATS).catch("mp3"),
    sample_rate: z.literal(SAMPLE_RATES).catch(24000),
    speed: z.number().positive().catch(1),
  })
  .transform(({ prompt, voice, audio_references, image_url, output_format, sample_rate, speed }) => ({
    /** The prompt as sent. */
    sentPrompt: prompt,
    speed,
    /** Id of a preset voice, or a description of the voice source. */
    voice: voice ?? describeVoiceSource(audio_references.length > 0, image_url !== null),
    format: output_format,
    sampleRateHz: sample_rate,
    /** The references that are sent beside a preset voice. */
    referenceCount: voice === null ? 0 : audio_references.length,
  }));
export type StoredInput = z.infer<typeof storedInputSchema> & {
  /** The prompt as the user wrote it. */
  readonly prompt: string;
};

/** Parses the input of a request; `null` for a task that was made outside this ledger, or an unreadable body. */
export function parseStoredInput({
  body,
  written,
}: Pick<RequestRow, "body" | "written">): StoredInput | null {
  const input = parseJson(storedInputSchema, body);
  return input === null ? null : { ...input, prompt: written ?? input.sentPrompt };
}

/** Returns format and sample rate as the service stated them, or else as they were asked for. */
export function parseStoredFormat(
  row: Pick<RequestRow, "body" | "written" | "output_format" | "output_rate_hz">,
): { readonly format: OutputFormat; readonly sampleRateHz: number } {
  const input = parseStoredInput(row);
  return {
    format: row.output_format ?? input?.format ?? "mp3",
    sampleRateHz: row.output_rate_hz ?? input?.sampleRateHz ?? 24000,
  };
}

/** Returns the idempotency key of a request's current attempt; `null` for a task that was made outside this ledger. */
export const getIdempotencyKey = ({
  body,
  take,
  attempt,
}: Pick<RequestRow, "body" | "take" | "attempt">): string | null =>
  body === null || take === null ? null : deriveIdempotencyKey(body, take, attempt);

/** Returns the ids that an error about a request names. */
export const getIds = (row: Pick<RequestRow, "task_id" | "body" | "take" | "attempt">) => ({
  taskId: row.task_id ?? undefined,
  idempotencyKey: getIdempotencyKey(row) ?? undefined,
});
