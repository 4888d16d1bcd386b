/** Finds the request that a task id or a handle names, even after the API key has changed. */
import { isTaskId } from "../contract/wire.ts";
import type { Deadline } from "../deadline.ts";
import { AudioError, type Wording } from "../errors.ts";
import { findAttemptsOfTask, findRequest } from "../ledger/request-rows.ts";
import type { RequestRow } from "../ledger/schema.ts";
import { adoptTask } from "./adopt-task.ts";
import type { RequestDeps } from "./deps.ts";
import { parseRequestHandle } from "./request-handle.ts";
import { findSavedAudio } from "./saved-audio.ts";

/**
 * Checks the form of a task id.
 *
 * @throws AudioError `invalid_request`
 */
export function assertTaskId(taskId: string): void {
  if (/^nar_[0-9a-f]{32}$/.test(taskId)) {
    throw new AudioError("invalid_request", "That is the id of a narration, not of a task.", {
      remedy: `Call narrate with narration_id ${taskId}: it says how it stands, and where its file is; with file_name it is saved under that name, too, free.`,
    });
  }
  if (isTaskId(taskId)) return;
  throw new AudioError(
    "invalid_request",
    "task_id must be an id that this server returned: 1 to 256 visible characters, as they are.",
    { remedy: "Use the task_id of an earlier result; list_tasks shows them." },
  );
}

export interface NamedRequest {
  readonly row: RequestRow;
  /** The sentence for a caller that uses the task id of an earlier attempt, which has failed. */
  readonly notes: readonly Wording[];
}

/**
 * Finds the request of a task id or a handle. Prefers the own API key's, then one whose audio is on this machine, then
 * takes the task of another API key over.
 *
 * @returns `null` if the ledger does not know the task
 * @throws AudioError `not_found` for an unknown handle, or for a task of another account
 */
export async function resolveNamedRequest(
  deps: RequestDeps,
  taskIdOrHandle: string,
  signal: AbortSignal,
  deadline: Deadline,
): Promise<NamedRequest | null> {
  const { ledger } = deps;
  const requestId = parseRequestHandle(taskIdOrHandle);
  if (requestId !== undefined) {
    const row = await findRequest(ledger, requestId);
    if (row !== undefined && row.api_key_id === ledger.identity.apiKeyId) return { row, notes: [] };
    // A handle is no id of the service, so asking the service would be pointless.
    throw new AudioError("not_found", `No request of this API key has the handle ${taskIdOrHandle}.`, {
      remedy:
        "list_tasks shows the requests. One that was sent under an earlier API key is resolved by repeating its generate_audio call, which does not pay twice for a key of the same account.",
    });
  }
  const attempts = await findAttemptsOfTask(ledger, taskIdOrHandle);
  const own = attempts.find(({ api_key_id }) => api_key_id === ledger.identity.apiKeyId);
  if (own !== undefined) {
    const row = own.is_current === 1 ? own : ((await findRequest(ledger, own.id)) ?? own);
    return { row, notes: own.is_current === 1 ? [] : [describeEarlierTask(taskIdOrHandle, row)] };
  }
  const current = attempts.filter(({ is_current }) => is_current === 1);
  const file = await findSavedAudio(deps, current, null);
  const saved = current.find(({ id }) => id === file?.owner);
  if (saved !== undefined) return { row: saved, notes: [] };
  const [other] = current;
  if (other === undefined) return null;
  const adopted = await adoptTask(deps, other, signal, deadline);
  if (adopted !== null) return { row: adopted, notes: [] };
  throw new AudioError("not_found", `The service does not know task ${taskIdOrHandle} under this API key.`, {
    httpStatus: 404,
    taskId: taskIdOrHandle,
    remedy:
      "The ledger has it under another API key. With that key it can be fetched; with this one, only the text can be made again, which is paid for: ask the user first.",
  });
}

function describeEarlierTask(taskId: string, { task_id }: RequestRow): string {
  const again = task_id === null ? "" : `, as task ${task_id}`;
  return `Task ${taskId} failed and was refunded; the same request was tried again by itself${again}.`;
}
