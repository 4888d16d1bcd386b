/** Turns failures of the file system into {@link AudioError}s. */
import { AudioError } from "../errors.ts";

/** The `code` of a Node error, such as `ENOENT`; `undefined` for anything else. */
export function getSystemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Error codes for a full disk, a used-up quota, and a file above the size limit. */
const DISK_FULL_CODES = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

const REASON_BY_CODE: Readonly<Record<string, string>> = {
  EACCES: "no permission",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  ENOTDIR: "part of the path is a file, not a folder",
  ELOOP: "the path holds a loop of symbolic links",
  ENOENT: "it does not exist and cannot be made",
  ENAMETOOLONG: "the path is too long",
  EIO: "the disk reports an error",
  EMFILE: "too many files are open",
  ENFILE: "too many files are open",
  EBUSY: "it is in use",
  EINVAL: "the file system refuses the operation",
  ENODEV: "the disk is gone",
  ENXIO: "the disk is gone",
  ESTALE: "the network disk is gone",
  EISDIR: "a folder is in the way, or the disk cannot tell files from folders",
  ENOTEMPTY: "a folder is in the way",
  ERR_ACCESS_DENIED: "Node.js was started without the permission",
};

/** Returns the reason for a system error, such as "no permission (EACCES)"; `null` if the error is not about files. */
export function describeSystemError(error: unknown): string | null {
  const code = getSystemCode(error);
  if (code === undefined || !isFileFailure(error, code)) return null;
  return `${REASON_BY_CODE[code] ?? "the system refuses it"} (${code})`;
}

/**
 * System calls of the network. Some of their errors have the same codes as errors of files, but are explained
 * elsewhere.
 */
const NETWORK_CALLS = new Set(["connect", "getaddrinfo", "bind", "listen", "accept"]);
const NETWORK_CODES = /^(?:ECONN|ENET|EHOST|EADDR|EPIPE$|EPROTO$|ENOTCONN$|ENOTFOUND$|EAI_)/;

function isFileFailure(error: unknown, code: string): error is Error {
  if (!(error instanceof Error) || error instanceof AudioError) return false;
  // An ERR_ACCESS_DENIED names no system call, because Node's permission model refuses an operation before any system
  // call is made.
  if (code === "ERR_ACCESS_DENIED") return true;
  if (!("syscall" in error) || typeof error.syscall !== "string") return false;
  return !NETWORK_CALLS.has(error.syscall) && !NETWORK_CODES.test(code);
}

/**
 * Converts a failure of the file system to an {@link AudioError}.
 *
 * @param folder the output folder, for the message
 * @returns `disk_full` or `output_not_writable`, with the system's error code in the message. An error code without an
 *   entry in {@link REASON_BY_CODE} is converted, too. An error that is not about files is returned unchanged
 */
export function fileError(error: unknown, folder: string): unknown {
  const code = getSystemCode(error);
  if (code === undefined || !isFileFailure(error, code)) return error;
  if (DISK_FULL_CODES.has(code)) {
    return new AudioError("disk_full", `There is no room left for audio in ${folder} (${code}).`, {
      cause: error,
    });
  }
  return notWritableError(folder, describeSystemError(error) ?? code, error);
}

/**
 * Builds an `output_not_writable` error for the output folder `folder`. `reason` is the clause that follows the colon
 * in the message.
 */
export function notWritableError(folder: string, reason: string, cause?: unknown): AudioError {
  return new AudioError("output_not_writable", `Audio cannot be saved in ${folder}: ${reason}.`, { cause });
}
