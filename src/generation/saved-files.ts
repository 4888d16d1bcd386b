/** Owns finding the saved copy of a task's audio on this machine, checked against the disk; downloads nothing. */
import { basename } from "node:path";
import { audioInputSchema, type NormalizedAudioInput, normalizeAudioInput } from "../contract/audio-input.ts";
import { AudioError } from "../errors.ts";
import { audioFileName } from "../files/file-name.ts";
import { isIntact } from "../files/save-audio.ts";
import type { SavedFile, TaskRecord } from "../ledger/record.ts";
import type { GenerationDeps } from "./deps.ts";

/** Format, rate and length of a record's audio: as the service stated them, else as they were asked for. */
export function formatOf(record: TaskRecord): {
  format: "mp3" | "wav" | "pcm" | "ogg_opus";
  sampleRateHz: number;
} {
  if (record.output !== null) return record.output;
  const input = parsedInput(record);
  return { format: input?.output_format ?? "mp3", sampleRateHz: input?.sample_rate ?? 24000 };
}

/** The request behind a record; `null` for a task made elsewhere. */
export function parsedInput(record: TaskRecord): NormalizedAudioInput | null {
  if (record.input === null) return null;
  return normalizeAudioInput(audioInputSchema.parse(JSON.parse(record.input)));
}

/**
 * This place's copy of the audio, with the very bytes that were saved; one under the wanted name is preferred.
 *
 * @param fileName as the caller gave it, without or with extension; `null` for any
 */
export async function findSaved(
  deps: GenerationDeps,
  record: TaskRecord,
  fileName: string | null,
): Promise<SavedFile | null> {
  const here = record.files.filter((file) => file.place === deps.folder.place);
  const wanted = fileName === null ? null : wantedName(record, fileName);
  const ordered = [...here].reverse().sort((a, b) => rank(a, wanted) - rank(b, wanted));
  for (const file of ordered) {
    if (await isIntact(file, deps.folder.root)) return file;
  }
  return null;
}

const rank = (file: SavedFile, wanted: string | null): number => (basename(file.path) === wanted ? 0 : 1);

/** The name that a caller's `file_name` comes to for this record's audio. */
export function wantedName(record: TaskRecord, fileName: string | null): string {
  const prompt = parsedInput(record)?.prompt ?? null;
  return audioFileName(fileName, formatOf(record).format, prompt, record.taskId ?? "task");
}

/** What is said of audio whose first bytes are not its format's: paid for, kept, and not handed out as audio. */
export function unsoundError(record: TaskRecord, file: SavedFile): AudioError {
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
