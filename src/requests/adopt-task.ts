/** Queries tasks for calls, and takes over a task that another API key of this machine has made. */
import type { ObservedTask } from "../api/parse-task.ts";
import type { Deadline } from "../deadline.ts";
import { AudioError } from "../errors.ts";
import { deriveRequestId } from "../ledger/identity.ts";
import { UNDRIVEN_REQUEST } from "../ledger/request-rows.ts";
import type { RequestRow } from "../ledger/schema.ts";
import { describeReadHold } from "./activity.ts";
import { beginRequest } from "./begin.ts";
import type { RequestDeps } from "./deps.ts";
import { toObservedPatch } from "./job.ts";
import { queryTask, waitForRead } from "./watch-step.ts";

/** Answers that say that this account does not have the task. */
const NOT_VISIBLE_CODES: ReadonlySet<string> = new Set(["not_found", "purchase_required"]);

/** Queries a task for a call. Throws at once if the limit of reads would delay it beyond the call's deadline. */
export async function queryForCall(
  deps: RequestDeps,
  taskId: string,
  signal: AbortSignal,
  deadline?: Deadline,
  isPoll = false,
): Promise<ObservedTask> {
  await waitForRead(deps, isPoll, signal, (reason, waitMs) => {
    if (deadline === undefined || waitMs <= deadline.leftMs) return;
    throw new AudioError("rate_limit", describeReadHold(reason, waitMs), {
      retryable: true,
      retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
      taskId,
    });
  });
  return await queryTask(deps, taskId, signal);
}

/**
 * Asks the service for a task that another API key of this machine has made, and stores it under the own key, with what
 * it has cost and who pays.
 *
 * @returns `null` if this account does not know the task
 * @throws AudioError if the service cannot be asked. Nothing may be sent then, because a usable task may exist
 */
export async function adoptTask(
  deps: RequestDeps,
  other: RequestRow,
  signal: AbortSignal,
  deadline?: Deadline,
): Promise<RequestRow | null> {
  const fresh = await fetchAdopted(deps, other, signal, deadline);
  if (fresh === null) return null;
  const options = { wish: null, mayBeginAttempt: false } as const;
  return (await beginRequest(deps.ledger, { ...fresh, is_listed: other.is_listed }, options)).row;
}

/** Does the same as {@link adoptTask}, but stores nothing. */
export async function fetchAdopted(
  deps: RequestDeps,
  other: RequestRow,
  signal: AbortSignal,
  deadline?: Deadline,
): Promise<RequestRow | null> {
  const { ledger, clock } = deps;
  if (other.task_id === null) return null;
  try {
    const task = await queryForCall(deps, other.task_id, signal, deadline);
    const nowMs = clock.wallMs();
    return {
      ...other,
      ...toObservedPatch(task, { ...other, finished_at_ms: null }, nowMs),
      id: deriveRequestId(other.fingerprint, ledger.identity.apiKeyId),
      api_key_id: ledger.identity.apiKeyId,
      ...UNDRIVEN_REQUEST,
      maybe: 0,
      send_id: null,
      polled_steady_ms: 0,
      created_at_ms: nowMs,
      updated_at_ms: nowMs,
    };
  } catch (error) {
    if (error instanceof AudioError && NOT_VISIBLE_CODES.has(error.code)) return null;
    throw error;
  }
}
