/**
 * Defines two causes of errors. They mark a request that was never sent, and a download that cannot continue from its
 * partial bytes.
 */
import { AudioError } from "../errors.ts";

/** Marks a failure before the first byte of the request was written. The service cannot have seen such a request. */
export class UnsentRequestError extends Error {
  override readonly name = "UnsentRequestError";
}

/**
 * Marks a failure after which a download cannot continue from its partial bytes: a 416, a wrong range, or surplus
 * bytes.
 */
export class StaleBytesError extends Error {
  override readonly name = "StaleBytesError";
  /** The size of the whole audio, if a 416 states it in Content-Range; otherwise `null`. */
  readonly totalBytes: number | null;

  constructor(message: string, totalBytes: number | null = null) {
    super(message);
    this.totalBytes = totalBytes;
  }
}

/**
 * Returns the {@link StaleBytesError} that caused a failure, or `null`. {@link StaleBytesError} is a cause and not a
 * subclass of AudioError, because `withIds` copies errors, and its copies keep the cause but not the subclass.
 */
export function findStaleBytesError(error: unknown): StaleBytesError | null {
  return error instanceof AudioError && error.cause instanceof StaleBytesError ? error.cause : null;
}
