/** Two marks that travel as an error's cause: the request was never sent, and the bytes got so far cannot be continued. */
import { AudioError } from "../errors.ts";

/** Cause of a failure before the first byte of the request was written: the service cannot have seen it. */
export class UnsentRequest extends Error {
  override readonly name = "UnsentRequest";
}

/** Cause of a failure after which the bytes got so far cannot be continued (416, a range that does not fit, surplus). */
export class StaleBytes extends Error {
  override readonly name = "StaleBytes";
  /** The size that a 416 states in its Content-Range, or `null`. */
  readonly totalBytes: number | null;

  constructor(message: string, totalBytes: number | null = null) {
    super(message);
    this.totalBytes = totalBytes;
  }
}

/** The {@link StaleBytes} behind a failure, or `null`. A cause, because `withIds` keeps causes and not subclasses. */
export function staleBytes(error: unknown): StaleBytes | null {
  return error instanceof AudioError && error.cause instanceof StaleBytes ? error.cause : null;
}
