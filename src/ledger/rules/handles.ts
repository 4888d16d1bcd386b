/** Handles: calls that were answered as tasks of the protocol's extension; when one is shared, wanted or ended. Pure. */
import { z } from "zod";
import type { KeyId } from "../identity.ts";
import { RECORD_STATUSES } from "../record.ts";
import { type StoredError, storedErrorSchema } from "../stored-error.ts";

export const wishSchema = z.object({
  fileName: z.string().nullable(),
  replace: z.boolean(),
  /** The call found a task that was there already. */
  replayed: z.boolean(),
});

/** The file name and mode that a call wants; calls that want the same share a handle. */
export type Wish = Pick<z.infer<typeof wishSchema>, "fileName" | "replace">;

/** How it ended; the rest is for whoever gave the handle out. */
export const handleEndSchema = z.looseObject({ kind: z.string() });
export type HandleEnd = z.infer<typeof handleEndSchema>;

/** Times are the wall clock's. */
export interface Handle {
  /** Random, because nobody may guess it. */
  readonly handle: string;
  readonly kind: "request" | "narration";
  readonly keyId: KeyId;
  /** The id of the record or the narration. */
  readonly targetId: string;
  readonly openedAtMs: number;
  /** The first attempt that is made for it; free repeats belong to it as well. */
  readonly attempt: number;
  readonly wish: z.infer<typeof wishSchema>;
  readonly cancelAskedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly end: HandleEnd | null;
}

/** How the handle of a request ended: once, and for every process that is asked about it. */
export const requestEndSchema = z.discriminatedUnion("kind", [
  /** Its audio was saved. */
  z.object({ kind: z.literal("done") }),
  /** Nothing had been sent for it, and nothing ever is. */
  z.object({ kind: z.literal("cancelled") }),
  z.object({ kind: z.literal("error"), error: storedErrorSchema }),
]);
export type RequestEnd = z.infer<typeof requestEndSchema>;

/** The fields of a handle's record that the rules need. */
const targetSchema = z.looseObject({
  status: z.enum(RECORD_STATUSES),
  attempt: z.int().positive(),
  taskId: z.string().nullable(),
});
export type HandleTarget = z.infer<typeof targetSchema>;

/** `null`: there is no such record, or it cannot be read. */
export function handleTarget(value: string | undefined): HandleTarget | null {
  try {
    return value === undefined ? null : targetSchema.parse(JSON.parse(value));
  } catch {
    return null;
  }
}

export const isWanted = ({ endedAtMs, cancelAskedAtMs }: Handle): boolean =>
  endedAtMs === null && cancelAskedAtMs === null;

/** A new handle's row, but for what its target says. */
export type HandleDraft = Pick<Handle, "handle" | "keyId" | "targetId" | "openedAtMs">;

/** The handle of a call: one that is open and wants the same, else a new one. */
export function openedHandle(
  open: readonly Handle[],
  { status, attempt, taskId }: HandleTarget,
  draft: HandleDraft,
  { fileName, replace }: Wish,
): Handle {
  const hasFailed = status === "failed";
  const shared = open.find(
    (handle) =>
      isWanted(handle) &&
      handle.wish.fileName === fileName &&
      handle.wish.replace === replace &&
      (!hasFailed || handle.attempt > attempt),
  );
  if (shared !== undefined) return shared;
  return {
    ...draft,
    kind: "request",
    // A call does not repeat an attempt that has failed: it begins the next.
    attempt: attempt + (hasFailed ? 1 : 0),
    wish: { fileName, replace, replayed: taskId !== null && !hasFailed },
    cancelAskedAtMs: null,
    endedAtMs: null,
    end: null,
  };
}

/** A handle ends once: what comes later changes nothing. */
export const endedHandle = (handle: Handle, end: HandleEnd, endedAtMs: number): Handle =>
  handle.endedAtMs === null ? { ...handle, end, endedAtMs } : handle;

/** A handle that somebody cancels: it ends at once where nothing of its record is sent, else once that is so. */
export function cancelledHandle(handle: Handle, target: HandleTarget | null, atMs: number): Handle {
  if (!isWanted(handle)) return handle;
  const isUnsent = target === null || target.status === "waiting";
  const asked = { ...handle, cancelAskedAtMs: atMs };
  return isUnsent ? endedHandle(asked, { kind: "cancelled" }, atMs) : asked;
}

/** An attempt that a new call leaves behind, and the error that its handles end with. */
export interface FailedAttempt {
  readonly attempt: number;
  readonly error: StoredError;
  readonly atMs: number;
}

/**
 * The handles that end because their record waits from now on: nothing of it is sent.
 *
 * @param failed the attempt that a new call has left behind
 */
export function endedByWaiting(open: readonly Handle[], failed: FailedAttempt | null): Handle[] {
  return open.flatMap((handle) => {
    if (failed !== null && handle.attempt <= failed.attempt) {
      return [endedHandle(handle, { kind: "error", error: failed.error }, failed.atMs)];
    }
    const { cancelAskedAtMs } = handle;
    return cancelAskedAtMs === null ? [] : [endedHandle(handle, { kind: "cancelled" }, cancelAskedAtMs)];
  });
}
