/** Parses the request that a record stores, and finds the format of its audio. */
import { z } from "zod";
import { OUTPUT_FORMATS, SAMPLE_RATES } from "../../contract/audio-format.ts";
import type { RequestRecord } from "../../ledger/record.ts";

function describeVoiceSource(hasReferences: boolean, hasImage: boolean): string {
  if (hasImage) return "from image_url";
  return hasReferences ? "from audio_references" : "the service's default";
}

/**
 * Parses a stored request leniently. The request was valid when it was sent, so a retired voice or an unknown field
 * must not prevent the audio from being saved or the record from being listed.
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
  }));
export type StoredInput = z.infer<typeof storedInputSchema> & {
  /** The prompt as given, before respelling. */
  readonly prompt: string;
};

/** Parses the request of a record; `null` for a task created outside this ledger or an unreadable request. */
export function parseStoredInput(record: RequestRecord): StoredInput | null {
  if (record.input === null) return null;
  try {
    const input = storedInputSchema.parse(JSON.parse(record.input));
    return { ...input, prompt: record.originalPrompt ?? input.sentPrompt };
  } catch {
    return null;
  }
}

/** Returns format and sample rate as reported by the service, or as requested if it reported none. */
export function parseStoredFormat(record: RequestRecord): {
  format: (typeof OUTPUT_FORMATS)[number];
  sampleRateHz: number;
} {
  if (record.output !== null) return record.output;
  const input = parseStoredInput(record);
  return { format: input?.format ?? "mp3", sampleRateHz: input?.sampleRateHz ?? 24000 };
}
