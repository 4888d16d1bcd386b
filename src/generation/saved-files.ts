/** Finds the saved copy of a task's audio on this machine and verifies it. */
import { basename } from "node:path";
import { z } from "zod";
import { OUTPUT_FORMATS, SAMPLE_RATES } from "../contract/audio-format.ts";
import { AudioError } from "../errors.ts";
import { automaticName } from "../files/automatic-name.ts";
import { givenName } from "../files/file-name.ts";
import { isIntact } from "../files/save-audio.ts";
import type { SavedFile } from "../files/saved-file.ts";
import type { TaskRecord } from "../ledger/record.ts";
import type { GenerationDeps } from "./deps.ts";

/** Returns format and sample rate as reported by the service, or as requested if it reported none. */
export function formatOf(record: TaskRecord): {
  format: (typeof OUTPUT_FORMATS)[number];
  sampleRateHz: number;
} {
  if (record.output !== null) return record.output;
  const input = storedInput(record);
  return { format: input?.format ?? "mp3", sampleRateHz: input?.sampleRateHz ?? 24000 };
}

function voiceWithoutName(hasReferences: boolean, hasImage: boolean): string {
  if (hasImage) return "from image_url";
  return hasReferences ? "from audio_references" : "the service's default";
}

/**
 * Parses a stored request leniently. It was valid when it was sent, so a retired voice or an unknown field must not
 * prevent saving or listing it.
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
    spoken: prompt,
    speed,
    /** Id of a preset voice, or a description of the voice source. */
    voice: voice ?? voiceWithoutName(audio_references.length > 0, image_url !== null),
    format: output_format,
    sampleRateHz: sample_rate,
  }));
export type StoredInput = z.infer<typeof storedInputSchema> & {
  /** The prompt as given, before respelling. */
  readonly prompt: string;
};

/** Parses the request of a record; `null` for a task made elsewhere or an unreadable request. */
export function storedInput(record: TaskRecord): StoredInput | null {
  if (record.input === null) return null;
  try {
    const input = storedInputSchema.parse(JSON.parse(record.input));
    return { ...input, prompt: record.writtenPrompt ?? input.spoken };
  } catch {
    return null;
  }
}

/**
 * Finds an unchanged copy of the audio on this machine, by size and hash. Prefers files that match their format,
 * then files with the wanted name.
 *
 * @param fileName as given by the caller, with or without extension; `null` for any
 */
export async function findSaved(
  deps: Pick<GenerationDeps, "folder">,
  record: TaskRecord,
  fileName: string | null,
): Promise<SavedFile | null> {
  const wanted = fileName === null ? null : wantedName(record, fileName);
  const rank = (file: SavedFile): number =>
    (file.matchesFormat ? 0 : 2) + (wanted === null || basename(file.path) === wanted ? 0 : 1);
  const ordered = [...record.files].reverse().sort((a, b) => rank(a) - rank(b));
  for (const file of ordered) {
    if (await isIntact(file, deps.folder.root)) return file;
  }
  return null;
}

/** Returns the full file name for a caller's `file_name`, or an automatic name without one. */
export function wantedName(record: TaskRecord, fileName: string | null): string {
  const { format } = formatOf(record);
  if (fileName !== null) return givenName(fileName, format);
  return automaticName(format, storedInput(record)?.prompt ?? null, record.taskId ?? "task");
}

/** The error for bytes that do not match their format: they are paid for and kept, but not returned as audio. */
export function wrongFormatError(record: TaskRecord, file: SavedFile): AudioError {
  return new AudioError(
    "unexpected_response",
    `The service delivered bytes that are not ${formatOf(record).format}; they are kept as ${file.path}.`,
    {
      taskId: record.taskId ?? undefined,
      idempotencyKey: record.idempotencyKey ?? undefined,
      remedy:
        "Tell the user where the file is and that its content is not the audio format asked for. Asking again with the same arguments costs nothing and gives the same; another take costs credits.",
    },
  );
}
