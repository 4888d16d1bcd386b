/**
 * Decides when a call handle is shared, wanted or ended. Calls that are answered as tasks of the protocol's extension
 * have call handles. Pure.
 */
import { z } from "zod";
import type { ApiKeyId } from "../identity.ts";
import { RECORD_STATUSES } from "../record.ts";
import { type StoredError, storedErrorSchema } from "../stored-error.ts";

const saveOptionsSchema = z.object({
  /** The requested name; `null` if the call requests none. */
  fileName: z.string().nullable(),
  /** Whether to replace a file that this server saved under that name. */
  mayReplace: z.boolean(),
});

/** How a call saves the audio. Calls with the same request and the same options share a call handle. */
export type SaveOptions = Readonly<z.infer<typeof saveOptionsSchema>>;

export const storedSaveOptionsSchema = saveOptionsSchema.extend({
  /** Whether the call found an existing task. */
  replayed: z.boolean(),
});

/** How the call handle ended. Only the code that issued the call handle reads the fields besides `kind`. */
export const handleEndSchema = z.looseObject({ kind: z.string() });
export type CallHandleEnd = z.infer<typeof handleEndSchema>;

/** All times are wall-clock times. */
export interface CallHandle {
  /** Random, so that it cannot be guessed. */
  readonly handleId: string;
  readonly kind: "request" | "narration";
  readonly apiKeyId: ApiKeyId;
  /** The id of the record or the narration. */
  readonly targetId: string;
  readonly openedAtMs: number;
  /**
   * The number of the first attempt made for the call handle. A further attempt after a refunded failure belongs to the
   * call handle, too.
   */
  readonly attempt: number;
  readonly saveOptions: z.infer<typeof storedSaveOptionsSchema>;
  readonly cancelRequestedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly end: CallHandleEnd | null;
}

/** How the call handle of a request ended. Written once, and the same for every process. */
export const requestEndSchema = z.discriminatedUnion("kind", [
  /** The audio of the request was saved. */
  z.object({ kind: z.literal("done") }),
  /** Nothing was sent for the request, and nothing will be sent. */
  z.object({ kind: z.literal("cancelled") }),
  z.object({ kind: z.literal("error"), error: storedErrorSchema }),
]);
export type RequestEnd = z.infer<typeof requestEndSchema>;

/** The facts that the rules need about a call handle's record. */
const targetSchema = z.looseObject({
  status: z.enum(RECORD_STATUSES),
  attempt: z.int().positive(),
  taskId: z.string().nullable(),
});
export type CallHandleTarget = z.infer<typeof targetSchema>;

/** Parses a call handle's record; `null` for a missing or unreadable one. */
export function parseCallHandleTarget(recordJson: string | undefined): CallHandleTarget | null {
  try {
    return recordJson === undefined ? null : targetSchema.parse(JSON.parse(recordJson));
  } catch {
    return null;
  }
}

export const isCallHandleWanted = ({ endedAtMs, cancelRequestedAtMs }: CallHandle): boolean =>
  endedAtMs === null && cancelRequestedAtMs === null;

/** A new call handle, without the fields that depend on the state of its record or narration. */
export type CallHandleDraft = Pick<CallHandle, "handleId" | "apiKeyId" | "targetId" | "openedAtMs">;

/** Returns the open call handle with the same options. If there is none, returns a new call handle. */
export function findOrCreateCallHandle(
  open: readonly CallHandle[],
  { status, attempt, taskId }: CallHandleTarget,
  draft: CallHandleDraft,
  { fileName, mayReplace }: SaveOptions,
): CallHandle {
  const hasFailed = status === "failed";
  const shared = open.find(
    (handle) =>
      isCallHandleWanted(handle) &&
      handle.saveOptions.fileName === fileName &&
      handle.saveOptions.mayReplace === mayReplace &&
      (!hasFailed || handle.attempt > attempt),
  );
  if (shared !== undefined) return shared;
  return {
    ...draft,
    kind: "request",
    // If the last attempt has failed, the new call handle belongs to the next attempt, because a failed attempt is
    // never sent again.
    attempt: attempt + (hasFailed ? 1 : 0),
    saveOptions: { fileName, mayReplace, replayed: taskId !== null && !hasFailed },
    cancelRequestedAtMs: null,
    endedAtMs: null,
    end: null,
  };
}

/** Ends a call handle. Leaves a call handle that has ended unchanged. */
export const endCallHandle = (handle: CallHandle, end: CallHandleEnd, endedAtMs: number): CallHandle =>
  handle.endedAtMs === null ? { ...handle, end, endedAtMs } : handle;

/**
 * Cancels a call handle. If nothing was sent for its record, the call handle ends at once. If something was sent, the
 * call handle ends when the record's status is `waiting` again.
 */
export function cancelCallHandle(
  handle: CallHandle,
  target: CallHandleTarget | null,
  atMs: number,
): CallHandle {
  if (!isCallHandleWanted(handle)) return handle;
  const isUnsent = target === null || target.status === "waiting";
  const withCancellation = { ...handle, cancelRequestedAtMs: atMs };
  return isUnsent ? endCallHandle(withCancellation, { kind: "cancelled" }, atMs) : withCancellation;
}

/** An attempt that a new call replaces, and the error that ends its call handles. */
export interface FailedAttempt {
  readonly attempt: number;
  readonly error: StoredError;
  readonly atMs: number;
}

/**
 * Returns the call handles that end when their record goes back to `waiting`. These are the call handles of the
 * replaced attempt and all cancelled call handles. A cancelled call handle can end, because nothing is sent for a
 * waiting record.
 *
 * @param failed the attempt that a new call replaces; `null` if there is none
 */
export function callHandlesEndedByWaiting(
  open: readonly CallHandle[],
  failed: FailedAttempt | null,
): CallHandle[] {
  return open.flatMap((handle) => {
    if (failed !== null && handle.attempt <= failed.attempt) {
      return [endCallHandle(handle, { kind: "error", error: failed.error }, failed.atMs)];
    }
    const { cancelRequestedAtMs } = handle;
    return cancelRequestedAtMs === null
      ? []
      : [endCallHandle(handle, { kind: "cancelled" }, cancelRequestedAtMs)];
  });
}
