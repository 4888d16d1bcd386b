/** Saves one audio file under its name: complete and verified, or not at all. */
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
import type { FileDigest } from "./file-content.ts";
import { fileError, getSystemCode, notWritableError } from "./file-error.ts";
import { buildWrongFormatName } from "./file-name.ts";
import { FileSink } from "./file-sink.ts";
import { tryNumberedNames } from "./free-names.ts";
import { assertInPlace, type OutputFolder } from "./output-folder.ts";
import { type LinkMaker, syncFolder } from "./publish.ts";
import { publishReplacing } from "./replace.ts";
import type { FileToReplace, SavedFile } from "./saved-file.ts";
import { createTemporaryFile, removeIfPresent, type TemporaryFile } from "./temporary-file.ts";

/** Mode of saved files. The umask and the folder decide what other users of this machine may do with a file. */
const FILE_MODE = 0o644;

export interface SaveRequest {
  readonly folder: OutputFolder;
  /** The file name with its extension. A number is added if another file has that name. */
  readonly fileName: string;
  /** Returns whether the file may get a name. If this function is absent, the file may get any name. */
  readonly mayBeNamed?: (name: string) => Promise<boolean>;
  /** An earlier file. The new file replaces it if both have the same name. */
  readonly fileToReplace?: FileToReplace | null;
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
  /** Only for tests of file systems without hard links. */
  readonly makeLink?: LinkMaker;
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
  try {
    // Check the folder again, because minutes may have passed since the last check.
    await request.folder.ensureExists();
    const { root } = request.folder;
    const temporary = await createTemporaryFile(root);
    let isOpen = true;
    const close = async (): Promise<void> => {
      if (isOpen) await temporary.handle.close();
      isOpen = false;
    };
    try {
      const sink = new FileSink(temporary);
      await request.writeAudio(sink);
      // Ignore errors here, because some file systems have no permission bits.
      await temporary.handle.chmod(FILE_MODE & ~process.umask()).catch(() => {});
      const digest = await sink.finish();
      await assertNotReplaced(temporary, root);
      await close();
      if (looksLikePage(sink.head)) throw pageError();
      const found = digest.sizeBytes > 0 ? findFormat(request, sink.head) : null;
      const [matchesFormat, format] = [found !== null, found ?? request.format];
      if (!matchesFormat && !request.mayKeepWrongFormat) throw unexpectedFormatError(format);
      const shortSeconds = matchesFormat
        ? ((await request.measureIfShort?.(temporary.path, format)) ?? null)
        : null;
      if (shortSeconds !== null && request.mayKeepShort !== true) throw tooShortError(shortSeconds);
      const name = await publishUnderFreeName(request, temporary.path, digest, found);
      const savedAtMs = request.clock.wallMs();
      const file = { path: join(root, name), ...digest, savedAtMs, matchesFormat, shortSeconds };
      await syncFolder(root);
      await request.onPublished?.(file, format);
      return file;
    } finally {
      await close().catch(() => {});
      await removeIfPresent(temporary.path);
    }
  } catch (error) {
    throw fileError(error, request.folder.root);
  }
}

/** Returns the format that the bytes have; `null` for none. Raw pcm comes last, because it has no signature. */
function findFormat(request: SaveRequest, head: Uint8Array): OutputFormat | null {
  const { format, otherFormats = [], mayKeepWrongFormat, mayKeepOtherFormat } = request;
  const formats = [format, ...otherFormats].sort((a, b) => Number(a === "pcm") - Number(b === "pcm"));
  const found = formats.find((each) => looksLikeFormat(each, head)) ?? null;
  return found ?? (mayKeepWrongFormat && mayKeepOtherFormat === true ? recognizeFormat(head) : null);
}

const pageError = (): AudioError =>
  new AudioError("unexpected_response", "The download brought a page or a message, and no audio.", {
    retryable: true,
  });

const tooShortError = (seconds: number): AudioError =>
  new AudioError(
    "unexpected_response",
    `The service delivered ${seconds.toFixed(1)} s of audio, which is less than it stated.`,
    { retryable: true },
  );

function unexpectedFormatError(format: OutputFormat): AudioError {
  return new AudioError("unexpected_response", `The service delivered bytes that are not ${format}.`, {
    retryable: true,
  });
}

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

/** Publishes the file under the requested name or the next free name. Returns the name that the file got. */
async function publishUnderFreeName(
  request: SaveRequest,
  temporaryPath: string,
  digest: FileDigest,
  format: OutputFormat | null,
): Promise<string> {
  const { fileName } = request;
  const base =
    format === null
      ? buildWrongFormatName(fileName)
      : `${fileName.slice(0, fileName.lastIndexOf("."))}${FILE_EXTENSIONS[format]}`;
  const { folder, fileToReplace = null, makeLink, mayBeNamed } = request;
  return await tryNumberedNames(base, async (name) => {
    if (mayBeNamed !== undefined && !(await mayBeNamed(name))) return false;
    const outcome = await publishReplacing(temporaryPath, folder.root, name, digest, fileToReplace, makeLink);
    return outcome !== "taken";
  });
}
