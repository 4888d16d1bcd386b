/** The status of a call handle as reported to clients. */
import type { AudioError } from "../../errors.ts";
import type { CallHandle } from "../../ledger/rules/call-handle.ts";

/** The status of a call handle. `View` is the data from which the result is rendered. */
export type CallHandleStatus<View> = {
  readonly handleId: string;
  /** Wall clock time. */
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
} & (
  | { readonly kind: "working"; readonly message: string }
  /** `cancelled`, `done` and `error` are final. */
  | { readonly kind: "cancelled"; readonly message: string }
  | { readonly kind: "done"; readonly view: View }
  /** The call handle ended with the error that the call would have thrown. */
  | { readonly kind: "error"; readonly error: AudioError }
);

export type WorkingStatus = CallHandleStatus<never> & { readonly kind: "working" };

/**
 * The answer to a call whose client accepts call handles. While the work continues, the answer is a status. If there is
 * nothing left to wait for, it is the view of the result.
 */
export type CallHandleOrView<View> = { readonly working: WorkingStatus } | { readonly view: View };

/** Operations on the call handles of one kind: those of requests, or those of narrations. */
export interface CallHandleOperations<View> {
  /**
   * Reports the status of a call handle. Resumes its work if no process is doing that work.
   *
   * @returns `null` if the ledger no longer has the record of the call handle
   * @throws AudioError `store_unavailable`; the call handle is unaffected
   */
  resumeAndGetStatus(handle: CallHandle): Promise<CallHandleStatus<View> | null>;
  /** Cancels the call handle unless it has ended. @throws AudioError `store_unavailable` */
  cancel(handle: CallHandle): Promise<void>;
}

/**
 * Adds the id and times of a call handle to a status.
 *
 * @param changedAtMs time of the last change of the call handle's record
 */
export function callHandleStatus<Kind>(
  { handleId, openedAtMs, endedAtMs }: CallHandle,
  kind: Kind,
  changedAtMs = 0,
): Kind & { readonly handleId: string; readonly createdAtMs: number; readonly updatedAtMs: number } {
  const updatedAtMs = endedAtMs ?? Math.max(openedAtMs, changedAtMs);
  return { handleId, createdAtMs: openedAtMs, updatedAtMs, ...kind };
}
