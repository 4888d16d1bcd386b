/** Says what a part of a narration has come to. It is read from the part's row and its request's, and stored nowhere. */
import { DamagedPartError, PartsDifferError } from "../audio/part-errors.ts";
import { AudioError, type ErrorCode, wordFor } from "../errors.ts";
import {
  type PartTask,
  parseProblem,
  type StoredProblem,
  type TasksByFingerprint,
} from "../ledger/narration-rows.ts";
import type { NarrationRow, PartRow } from "../ledger/schema.ts";
import { parseRequestError } from "../ledger/stored-error.ts";
import { ADVICE_FOR_NARRATIONS } from "../remedies.ts";
import { describeUnknownStatus } from "../requests/activity.ts";
import { parseNote } from "../requests/note.ts";
import { isRefunded, taskFailedError } from "../requests/task-failed-error.ts";
import type { PlannedFile } from "./planned-files.ts";

export type PartStatus =
  /** Nothing is sent, and nobody works on it. */
  | "to_do"
  /** Somebody works on it, and the service has not accepted it yet. */
  | "waiting"
  /** It was sent, no answer was seen, and nobody works on it. */
  | "unanswered"
  /** The service has accepted it, and its audio is not saved yet. */
  | "running"
  | "saved"
  /** It failed for good in this run. Its file cannot be complete without it. */
  | "failed"
  /** It failed, and the caller asked to leave it out. */
  | "skipped"
  /** An error that concerns every part keeps it from being made or saved. */
  | "blocked";

/** A part with the request that speaks it. */
export interface PartState {
  readonly part: PartRow;
  readonly task: PartTask | undefined;
  readonly status: PartStatus;
}

/** A problem of a part, or of the narration as a whole if `partIndex` is `null`. */
export interface NarrationProblem extends StoredProblem {
  readonly partIndex: number | null;
}

/** Codes of errors that concern the text or the audio of one part only. Other parts may still succeed. */
const PART_ERROR_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  "task_failed",
  "invalid_request",
  "request_too_large",
  "idempotency_conflict",
  "unexpected_response",
  "too_large",
  "not_found",
]);

/**
 * Errors that may disappear when a running part ends, because credits that were reserved but not charged then become
 * free.
 */
const CREDIT_ERROR_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  "budget_exceeded",
  "max_credits_reached",
]);

/** A request that fails is driven twice in a run: the first time with one retry, the second time without. */
const MAX_FAILURES = 3;

/** What a submission is answered with at a wrong address, by the service or by a gateway before it. */
const ADDRESS_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 407]);

/** Whether an error concerns only one part. One that comes from a wrong address concerns all. */
const concernsOnePart = (task: PartTask): boolean =>
  task.error_code !== null &&
  PART_ERROR_CODES.has(task.error_code) &&
  !(task.task_id === null && ADDRESS_STATUSES.has(parseTaskError(task).httpStatus ?? 0));

export const isForCredits = ({ error_code }: PartTask): boolean =>
  error_code !== null && CREDIT_ERROR_CODES.has(error_code);

/** What the status of a part depends on, beside its rows. */
interface StatusContext {
  readonly narration: Pick<NarrationRow, "status" | "skip_failed">;
  readonly apiKeyId: string;
  /** Whether this process drives a request, which its row may not say yet. */
  readonly isDriving: (requestId: string) => boolean;
  /** Requests of other API keys whose tasks this account does not know. */
  readonly unknownHere: ReadonlySet<string>;
  /** Requests of other API keys that are saved, but whose audio is not usable here. */
  readonly notHere: ReadonlySet<string>;
}

const isSaved = ({ id, status }: PartTask, { notHere }: StatusContext): boolean =>
  status === "saved" && !notHere.has(id);

/** Ranks the requests of a part: audio that is saved, then tasks at the service, then the rest; the own key's first. */
function rankTask(task: PartTask, context: StatusContext): number {
  const { apiKeyId, unknownHere } = context;
  const own = task.api_key_id === apiKeyId ? 1 : 0;
  if (isSaved(task, context)) return 6 + own;
  const isUsable = task.task_id !== null && task.status !== "failed" && !unknownHere.has(task.id);
  if (isUsable) return 4 + own;
  return own === 1 ? 3 : 1;
}

/** Chooses the request whose audio a part uses. */
function choosePartTask(tasks: readonly PartTask[], context: StatusContext): PartTask | undefined {
  let best: PartTask | undefined;
  for (const task of tasks)
    if (best === undefined || rankTask(task, context) > rankTask(best, context)) best = task;
  return best;
}

function decidePartStatus(part: PartRow, task: PartTask | undefined, context: StatusContext): PartStatus {
  const { narration, apiKeyId, isDriving, unknownHere } = context;
  const failed = narration.skip_failed === 1 ? "skipped" : "failed";
  if (part.problem !== null) return failed;
  if (task === undefined) return "to_do";
  if (isSaved(task, context)) return "saved";
  const isDriven = task.isDriven || isDriving(task.id);
  // Another key's request is asked for if its task is known, and is otherwise sent again under the own key.
  if (task.api_key_id !== apiKeyId && (task.task_id === null || unknownHere.has(task.id))) return "to_do";
  if (task.status === "failed") {
    if (isDriven) return "waiting";
    const { count, mostCredits } = task.failures;
    const isGivenUp = count >= MAX_FAILURES || mostCredits > 0 || narration.status !== "running";
    return isGivenUp || (narration.skip_failed === 1 && count === 0) ? failed : "to_do";
  }
  if (task.error_code !== null && !isDriven) return concernsOnePart(task) ? failed : "blocked";
  if (task.task_id !== null) return "running";
  if (isDriven) return "waiting";
  return task.maybe > 0 ? "unanswered" : "to_do";
}

/** Says of each part which request speaks it, and what it has come to. */
export const derivePartStates = (
  parts: readonly PartRow[],
  tasks: TasksByFingerprint,
  context: StatusContext,
): PartState[] =>
  parts.map((part) => {
    const task = choosePartTask(tasks.get(part.fingerprint) ?? [], context);
    return { part, task, status: decidePartStatus(part, task, context) };
  });

/** Whether the service has the part, or may have it: its credits are reserved. */
export const isWithService = ({ task, status }: Pick<PartState, "task" | "status">): boolean =>
  task !== undefined &&
  status !== "to_do" &&
  status !== "saved" &&
  status !== "failed" &&
  status !== "skipped" &&
  (task.task_id !== null || (task.maybe > 0 && task.error_code === null)) &&
  task.status !== "failed";

/** Whether a file has all parts that it can have. A file without any part counts: nothing is left to join. */
export const isFileComplete = (
  { partIndexes }: Pick<PlannedFile, "partIndexes">,
  states: readonly PartState[],
): boolean =>
  partIndexes.every((index) => {
    const status = states[index]?.status;
    return status === "saved" || status === "skipped";
  });

// ---- problems ----

/** Builds the problem that a narration reports for an error. If the error has a remedy, the remedy ends the message. */
export function buildProblem({ code, message, remedy }: AudioError): StoredProblem {
  const advice = remedy ?? ADVICE_FOR_NARRATIONS[code];
  if (advice === undefined) return { code, message };
  const [assistant, terminal] = [wordFor(advice, "assistant"), wordFor(advice, "terminal")];
  return {
    code,
    message: `${message} ${assistant}`,
    ...(terminal === assistant ? {} : { terminal: `${message} ${terminal}`.trimEnd() }),
  };
}

/** Builds the problem of a paid part whose audio is missing or cannot be joined. Only another take helps. */
const buildUnusableAudioProblem = (message: string): StoredProblem => ({ code: "audio_unusable", message });

/** Returns the problem of an audio that was fetched again, and is still not there. */
export const REFETCHED_IN_VAIN: StoredProblem = buildUnusableAudioProblem(
  "Its audio was fetched again, and cannot be read all the same.",
);

/** Restores the error of a request that has one. */
const parseTaskError = (task: PartTask): AudioError =>
  parseRequestError(task) ?? new AudioError("unexpected_response", "No reason is stored.");

/** Returns the problem that an error of a request is for every part. */
export const buildTaskProblem = (task: PartTask): StoredProblem => buildProblem(parseTaskError(task));

function findPartProblem({ part, task, status }: PartState): StoredProblem | null {
  const stored = parseProblem(part.problem);
  if (stored !== null) return stored;
  if (task === undefined) return null;
  if (status === "running") {
    const note = parseNote(task);
    if (note?.kind !== "unknown_status") return null;
    const message = describeUnknownStatus(`task ${task.task_id}`, note.status ?? "");
    return { code: "unexpected_response", message };
  }
  if (status !== "failed" && status !== "skipped") return null;
  if (task.error_code !== null) {
    const isPaid = task.status === "succeeded" || (task.error_code === "not_found" && task.task_id !== null);
    const error = parseTaskError(task);
    return isPaid ? buildUnusableAudioProblem(error.message) : buildProblem(error);
  }
  // A part that an earlier run has given up is left out without a new try.
  if (status === "skipped" && task.failures.count === 0)
    return { code: "skipped", message: "It is left out." };
  const failure = taskFailedError({ ...task, body: null, take: null });
  // The remedy of a single text sends other words, where a part may also have another take.
  return isRefunded(task) ? { code: failure.code, message: failure.message } : buildProblem(failure);
}

/** Lists the problems of single parts, in reading order. */
export const listPartProblems = (states: readonly PartState[]): NarrationProblem[] =>
  states.flatMap((state) => {
    const problem = findPartProblem(state);
    return problem === null ? [] : [{ partIndex: state.part.position, ...problem }];
  });

/**
 * Converts an error of joining to problems of single parts; `null` if it does not concern single parts.
 *
 * @param parts the parts that were joined
 */
export function convertJoinError(
  error: unknown,
  parts: readonly PartRow[],
): ReadonlyMap<PartRow, StoredProblem> | null {
  const problems = new Map<PartRow, StoredProblem>();
  const note = (index: number, problem: StoredProblem): void => {
    const part = parts[index];
    if (part !== undefined) problems.set(part, problem);
  };
  if (error instanceof DamagedPartError)
    note(error.partIndex, buildUnusableAudioProblem(`Its audio is damaged: ${error.why}.`));
  else if (error instanceof PartsDifferError) {
    for (const { partIndex, property, value, commonValue, commonPartIndex } of error.differences) {
      const common = (parts[commonPartIndex]?.position ?? 0) + 1;
      const message = `Its audio has ${property} ${value}, and part ${common} has ${commonValue}; one file cannot hold both. The parts are kept.`;
      note(partIndex, { code: "parts_differ", message });
    }
  } else return null;
  return problems;
}
