/** The status of a handle as reported to clients. */
import type { AudioError } from "../../errors.ts";
import type { CallHandle } from "../../ledger/rules/call-handle.ts";

/** The status of a handle. `View` is the data that the result is rendered from. */
export type CallHandleStatus<View> = {
  readonly handleId: string;
  /** Wall clock time. */
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
} & (
  | { readonly kind: "working"; readonly message: string }
  /** Cancelled. This kind and the ones below are final. */
  | { readonly kind: "cancelled"; readonly message: string }
  | { readonly kind: "done"; readonly view: View }
  /** The handle ended with the error that the call would have thrown. */
  | { readonly kind: "error"; readonly error: AudioError }
);

export type WorkingStatus = CallHandleStatus<never> & { readonly kind: "working" };

/** The answer to a call whose client accepts handles: a view if there is nothing left to wait for. */
export type CallHandleOrView<View> = { readonly working: WorkingStatus } | { readonly view: View };

/** Operations on the handles of one kind. */
export interface CallHandleOperations<View> {
  /**
   * Reports the status of a handle, and resumes its work if no process is doing it.
   *
   * @returns `null` if the ledger no longer has the record of the handle
   * @throws AudioError `store_unavailable`; the handle is unaffected
   */
  getStatus(handle: CallHandle): Promise<CallHandleStatus<View> | null>;
  /** Cancels the handle unless it has ended. @throws AudioError `store_unavailable` */
  cancel(handle: CallHandle): Promise<void>;
}

/**
 * Adds the handle's id and times to a status.
 *
 * @param changedAtMs time of the last change of the handle's record
 */
export function callHandleStatus<Kind>(
  { handleId, openedAtMs, endedAtMs }: CallHandle,
  kind: Kind,
  changedAtMs = 0,
): Kind & { readonly handleId: string; readonly createdAtMs: number; readonly updatedAtMs: number } {
  const updatedAtMs = endedAtMs ?? Math.max(openedAtMs, changedAtMs);
  return { handleId, createdAtMs: openedAtMs, updatedAtMs, ...kind };
}
