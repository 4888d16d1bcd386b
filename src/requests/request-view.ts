/** Builds the view of a request that a use case returns to its tool. */
import type { OutputFormat } from "../contract/audio-format.ts";
import { type Billing, isRunning } from "../contract/audio-task.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import type { AudioError, Wording } from "../errors.ts";
import { markChargeTold } from "../ledger/request-rows.ts";
import type { AttemptStatus, FileRow, RequestRow } from "../ledger/schema.ts";
import { parseRequestError } from "../ledger/stored-error.ts";
import { explainAddedNumber, explainReplacement, type FileDeps, type SaveOptions } from "./audio-names.ts";
import type { RequestDeps } from "./deps.ts";
import { describeIdenticalTake } from "./identical-takes.ts";
import { parseRequestHandle, toRequestHandle } from "./request-handle.ts";
import { getIdempotencyKey, parseStoredFormat, parseStoredInput } from "./stored-input.ts";

/** A status as lists show it: `saved` is a success. */
export type ListedStatus = Exclude<AttemptStatus, "saved">;

/** Audio on disk. */
export interface SavedAudio {
  readonly path: string;
  readonly format: OutputFormat;
  readonly sampleRateHz: number;
  /** As the service states it; `null` if it states none. */
  readonly durationSeconds: number | null;
  readonly sizeBytes: number;
  readonly sha256: string;
}

export interface RequestView {
  readonly taskId: string | null;
  /** The handle is set even while there is no task id; `null` for a task that is not in this ledger. */
  readonly requestHandle: string | null;
  readonly status: ListedStatus;
  readonly take: number | null;
  /** Id of a preset voice, or a description of the voice source; `null` if unknown. */
  readonly voice: string | null;
  /** Number of audio references that were sent beside a preset voice. */
  readonly referenceCount: number;
  readonly idempotencyKey: string | null;
  /** Whether this call found an existing task and reserved nothing new. */
  readonly replayed: boolean;
  readonly billing: Billing | null;
  /** Whether no earlier answer has named the charge, and the callers of this request pay it. */
  readonly isChargeNews: boolean;
  readonly audioSeconds: number | null;
  readonly audio: SavedAudio | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Why a `waiting` request is not sent by itself. */
  readonly refusal: AudioError | null;
  /** Whether the service does not know its task any more. */
  readonly isGone: boolean;
  /** Whether its audio is larger than this server takes. */
  readonly isTooLarge: boolean;
  /** One sentence about an unfinished task; `null` if the status is enough, or if nobody works on it. */
  readonly activity: string | null;
  /** Additional sentences for the result. */
  readonly notes: readonly Wording[];
}

export interface ViewFacts {
  readonly file?: FileRow | null;
  readonly replayed: boolean;
  readonly activity?: string | null;
  readonly notes?: readonly Wording[];
}

/** Returns the bill of the current attempt; `null` before its task is known, and if the service stated none. */
function buildBilling(row: RequestRow): Billing | null {
  const { task_id, status, charged_credits, refunded_credits } = row;
  if (task_id === null) return null;
  if (!isRunning(status) && charged_credits === null) return null;
  return { reserved_credits: RESERVED_CREDITS, charged_credits, refunded_credits };
}

/** Returns the status as lists show it: `saved` is a success. */
export const toListedStatus = ({ status }: Pick<RequestRow, "status">): ListedStatus =>
  status === "saved" ? "succeeded" : status;

const buildSavedAudio = (row: RequestRow, file: FileRow): SavedAudio => ({
  path: file.path,
  ...parseStoredFormat(row),
  durationSeconds: file.seconds ?? row.output_seconds ?? row.audio_seconds,
  sizeBytes: file.size_bytes,
  sha256: file.sha256,
});

export function buildRequestView(row: RequestRow, facts: ViewFacts): RequestView {
  const input = parseStoredInput(row);
  return {
    taskId: row.task_id,
    requestHandle: toRequestHandle(row.id),
    status: toListedStatus(row),
    take: row.take,
    voice: input?.voice ?? null,
    referenceCount: input?.referenceCount ?? 0,
    idempotencyKey: getIdempotencyKey(row),
    replayed: facts.replayed,
    billing: buildBilling(row),
    isChargeNews: row.is_charge_told === 0 && row.is_paid === 1 && row.payer === null,
    audioSeconds: row.audio_seconds,
    audio: facts.file == null ? null : buildSavedAudio(row, facts.file),
    error: row.failure_code === null ? null : { code: row.failure_code, message: row.failure_message ?? "" },
    refusal: row.status === "waiting" ? parseRequestError(row) : null,
    isGone: row.error_code === "not_found" && row.task_id !== null,
    isTooLarge: row.error_code === "too_large",
    activity: facts.activity ?? null,
    notes: facts.notes ?? [],
  };
}

/** Lets the first answer that names a charge be the only one that tells it as news. */
export async function tellCharge(
  { ledger, log }: Pick<RequestDeps, "ledger" | "log">,
  view: RequestView,
): Promise<RequestView> {
  const isNamed = (view.billing?.charged_credits ?? null) !== null;
  const id = parseRequestHandle(view.requestHandle ?? "");
  if (!view.isChargeNews || !isNamed || id === undefined) return view;
  try {
    return { ...view, isChargeNews: await markChargeTold(ledger, id) };
  } catch (error) {
    log.debug(`that a charge was told could not be noted: ${String(error)}`);
    return view;
  }
}

/** Says that the service delivered less audio than it stated, again and again; `null` if it did not. */
function describeShortAudio(row: RequestRow, { seconds }: FileRow): string | null {
  const stated = row.output_seconds ?? row.audio_seconds;
  if (seconds === null || stated === null) return null;
  return `It is cut: the file holds ${seconds.toFixed(1)} s of ${stated.toFixed(1)} s, also after another download. Each later call for it downloads it again, free; another take would be paid.`;
}

/** Says that the service has made another format than was asked for; `null` if it has not. */
function describeOtherFormat(row: RequestRow): string | null {
  const asked = parseStoredInput(row)?.format;
  const { format } = parseStoredFormat(row);
  return asked === undefined || asked === format
    ? null
    : `The service sent ${format}, not ${asked} as asked for. Another output_format is another task, and paid.`;
}

/** Builds the view of saved audio, with notes about its name and its bytes. */
export async function buildSavedView(
  deps: FileDeps,
  row: RequestRow,
  facts: ViewFacts & { readonly file: FileRow },
  saveOptions: SaveOptions = { fileName: null, mayReplace: false },
): Promise<RequestView> {
  const view = buildRequestView(row, facts);
  const notes = await Promise.all([
    explainAddedNumber(deps, row, facts.file, saveOptions),
    explainReplacement(deps, row, facts.file, saveOptions),
    describeIdenticalTake(deps.ledger, row, facts.file),
    describeShortAudio(row, facts.file),
    describeOtherFormat(row),
  ]);
  return { ...view, notes: [...view.notes, ...notes.filter((note) => note !== null)] };
}
