/** Owns the translation of file-system failures into {@link AudioError}; touches no file. */
import { AudioError } from "../errors.ts";

/** The `code` of a Node error, such as `ENOENT`; `undefined` for anything else. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** No blocks, no quota, or a limit on the size of files. */
const FULL = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "no permission",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  ENOTDIR: "part of the path is a file, not a folder",
  ELOOP: "the path holds a loop of symbolic links",
  ENOENT: "it does not exist and cannot be made",
  ENAMETOOLONG: "the path is too long",
  EIO: "the disk reports an error",
};

/**
 * A failure of the file system, as the caller may see it.
 *
 * @param folder the output folder, for the message
 * @returns `disk_full` or `output_not_writable`; an AudioError or an abort's reason comes back as it is
 */
export function fileFailure(error: unknown, folder: string): unknown {
  const code = systemCode(error);
  if (error instanceof AudioError || code === undefined || !(error instanceof Error && "syscall" in error)) {
    return error;
  }
  if (FULL.has(code)) {
    return new AudioError("disk_full", `There is no room left for audio in ${folder} (${code}).`, {
      cause: error,
    });
  }
  return notWritable(folder, `${REASONS[code] ?? "the file system refuses"} (${code})`, error);
}

export function notWritable(folder: string, reason: string, cause?: unknown): AudioError {
  return new AudioError("output_not_writable", `Audio cannot be saved in ${folder}: ${reason}.`, { cause });
}

/** Another file has the name that the caller chose. */
export function fileExists(name: string): AudioError {
  return new AudioError(
    "file_exists",
    `Another file is called ${JSON.stringify(name)} in the output folder.`,
    {
      remedy: "Choose another file_name, or leave it out to get a free one.",
    },
  );
}
