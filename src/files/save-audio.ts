/** Saves audio, or a text beside it, under its name: complete and verified, or not at all. */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { ByteSink } from "../api/download.ts";
import type { Clock } from "../clock.ts";
import {
  FILE_EXTENSIONS,
  looksLikeFormat,
  looksLikePage,
  type OutputFormat,
  recognizeFormat,
} from "../contract/audio-format.ts";
import { AudioError } from "../errors.ts";
import type { RecordedFile } from "./file-content.ts";
import { fileError, getSystemCode, notWritableError } from "./file-error.ts";
import { buildWrongFormatName } from "./file-name.ts";
import { assertInPlace, type OutputFolder } from "./output-folder.ts";
import { type NameChoice, publishUnderFreeName } from "./replace.ts";
import { getSavedMode, type TemporaryFile, withTemporaryFile } from "./temporary-file.ts";

export interface SavedFile extends RecordedFile {
  readonly savedAtMs: number;
  /**
   * False if the bytes do not match the audio's format. Such a file is saved as `.bin`, reported, and never delivered
   * as audio.
   */
  readonly matchesFormat: boolean;
  /** The length of audio that is shorter than the service stated; `null` or absent for whole audio. */
  readonly shortSeconds?: number | null;
}

export interface SaveRequest extends NameChoice {
  readonly folder: OutputFolder;
  /** The file name with its extension. A number is added if another file has that name. */
  readonly fileName: string;
  readonly format: OutputFormat;
  /** Other formats that the audio may have. The bytes decide. */
  readonly otherFormats?: readonly OutputFormat[];
  /** Writes the whole audio to the sink, or throws. */
  readonly writeAudio: (sink: ByteSink) => Promise<unknown>;
  readonly clock: Pick<Clock, "wallMs">;
  /**
   * Whether to keep bytes that do not match their format. If false, such bytes are discarded and an error is thrown, so
   * that the caller downloads the audio once more. A page is never kept.
   */
  readonly mayKeepWrongFormat: boolean;
  /** Whether to keep such bytes as the audio format that they are, if it is known. */
  readonly mayKeepOtherFormat?: boolean;
  /** Returns the length in seconds of audio that is too short; `null` for audio that is whole. */
  readonly measureIfShort?: (path: string, format: OutputFormat) => Promise<number | null>;
  /** Whether to keep audio that is too short. If false, it is discarded and an error is thrown. */
  readonly mayKeepShort?: boolean;
  /** Called after the file has got its final name, and after its content and name were flushed to the disk. */
  readonly onPublished?: (file: SavedFile, format: OutputFormat) => Promise<unknown>;
}

/**
 * Writes into a hidden temporary file beside the target, verifies it and publishes it without overwriting
 * (docs/reference-files.md, Saving). If a file with the same name and bytes exists, keeps that file instead. Leaves
 * nothing behind on failure.
 *
 * @throws AudioError `disk_full`, `output_not_writable`, `invalid_file_name` if no name is free, `unexpected_response`
 *   for bytes that do not match their format or are too short and are not kept, or whatever `writeAudio` throws
 */
export async function saveAudio(request: SaveRequest): Promise<SavedFile> {
  const { folder } = request;
  try {
    // Check the folder again, because minutes may have passed since the last check.
    await folder.ensureExists();
    const { root } = folder;
    return await withTemporaryFile(root, async (temporary) => {
      await request.writeAudio(temporary);
      const digest = await temporary.finish(getSavedMode());
      await assertNotReplaced(temporary, root);
      await temporary.handle.close();
      const { head, path } = temporary;
      if (looksLikePage(head))
        throw wrongBytesError("The download brought a page or a message, and no audio.");
      const found = digest.sizeBytes > 0 ? findFormat(request, head) : null;
      const [matchesFormat, format] = [found !== null, found ?? request.format];
      if (!matchesFormat && !request.mayKeepWrongFormat)
        throw wrongBytesError(`The service delivered bytes that are not ${format}.`);
      const shortSeconds = matchesFormat ? ((await request.measureIfShort?.(path, format)) ?? null) : null;
      if (shortSeconds !== null && request.mayKeepShort !== true)
        throw wrongBytesError(
          `The service delivered ${shortSeconds.toFixed(1)} s of audio, which is less than it stated.`,
        );
      const stem = request.fileName.slice(0, request.fileName.lastIndexOf("."));
      const base = matchesFormat
        ? `${stem}${FILE_EXTENSIONS[format]}`
        : buildWrongFormatName(request.fileName);
      const name = await publishUnderFreeName(path, root, base, digest, request);
      const savedAtMs = request.clock.wallMs();
      const file = { path: join(root, name), ...digest, savedAtMs, matchesFormat, shortSeconds };
      await request.onPublished?.(file, format);
      return file;
    });
  } catch (error) {
    throw fileError(error, folder.root);
  }
}

/** Returns the format that the bytes have; `null` for none. Raw pcm comes last, because it has no signature. */
function findFormat(request: SaveRequest, head: Uint8Array): OutputFormat | null {
  const { format, otherFormats = [], mayKeepWrongFormat, mayKeepOtherFormat } = request;
  const formats = [format, ...otherFormats].sort((a, b) => Number(a === "pcm") - Number(b === "pcm"));
  const found = formats.find((each) => looksLikeFormat(each, head)) ?? null;
  return found ?? (mayKeepWrongFormat && mayKeepOtherFormat === true ? recognizeFormat(head) : null);
}

const wrongBytesError = (message: string): AudioError =>
  new AudioError("unexpected_response", message, { retryable: true });

/**
 * Throws if the temporary file was removed or replaced while it was written, or if the real path of the folder has
 * changed.
 */
async function assertNotReplaced({ path, handle }: TemporaryFile, root: string): Promise<void> {
  const pathStats = lstat(path).catch((error) => {
    if (getSystemCode(error) === "ENOENT")
      throw notWritableError(root, "the file was removed while it was written");
    throw error;
  });
  const [pathEntry, openFile] = await Promise.all([pathStats, handle.stat(), assertInPlace(root)]);
  if (!pathEntry.isFile() || pathEntry.ino !== openFile.ino)
    throw notWritableError(root, "the file was replaced while it was written");
}

/**
 * Saves a text under a name. If a file with the same name and text exists, keeps that file instead. If another file has
 * the name, uses the next free name.
 *
 * @param fileName with extension
 * @throws AudioError `disk_full`, `output_not_writable`, or `invalid_file_name` if no name is free
 */
export async function saveText(folder: OutputFolder, fileName: string, text: string): Promise<RecordedFile> {
  const { root } = folder;
  try {
    await assertInPlace(root);
    return await withTemporaryFile(root, async (temporary) => {
      await temporary.write(Buffer.from(text));
      const digest = await temporary.finish(getSavedMode());
      const name = await publishUnderFreeName(temporary.path, root, fileName, digest);
      return { path: join(root, name), ...digest };
    });
  } catch (error) {
    throw fileError(error, root);
  }
}
