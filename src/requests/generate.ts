/** The use case of `generate_audio`: one text to one saved file. */
import { Deadline } from "../deadline.ts";
import type { AudioError, Wording } from "../errors.ts";
import { decideKinship, type Kinship } from "../ledger/kinship.ts";
import {
  findRequestsByFingerprint,
  findRequestsByLoose,
  patchRequest,
  readRequest,
} from "../ledger/request-rows.ts";
import type { FileRow, RequestRow } from "../ledger/schema.ts";
import { fetchAdopted } from "./adopt-task.ts";
import { type Attendance, findActivity, restoreError, throwIfUnreachable } from "./attend.ts";
import { findNameOwner, planName, type SaveOptions, saveUnderName } from "./audio-names.ts";
import { type Begun, beginRequest } from "./begin.ts";
import {
  type Call,
  type CallWithDeadline,
  runWithinCall,
  SUBMISSION_RESPONSE_WAIT_MS,
  startDeadline,
} from "./call.ts";
import type { RequestDeps } from "./deps.ts";
import type { RequestDriver } from "./driver.ts";
import { readCalibration } from "./estimate-calibration.ts";
import { explainCredits, isUnexplainedCreditError } from "./explain-credits.ts";
import { isOver } from "./job.ts";
import { parseNote } from "./note.ts";
import {
  buildNewRequest,
  type GenerateRequest,
  type PreparedRequest,
  prepareRequest,
} from "./prepare-request.ts";
import { buildRequestView, buildSavedView, type RequestView } from "./request-view.ts";
import { chooseFileName, findOrReopenAudio, findSavedAudio } from "./saved-audio.ts";
import { getIdempotencyKey, parseStoredInput } from "./stored-input.ts";
import { taskFailedError } from "./task-failed-error.ts";

export interface RequestContext {
  readonly deps: RequestDeps;
  readonly driver: RequestDriver;
  readonly attendance: Attendance;
}

/** The longest wait of a call that repeats one that its client has given up; it then returns within 2 s. */
const REPEAT_WAIT_MS = 1500;

const KINSHIP_SENTENCES: Readonly<Record<Kinship, readonly [what: string, condition: string]>> = {
  retyped_open: [
    "This is the task of an earlier text that differs only in quotation marks, blanks, case or Unicode form; nothing new was sent.",
    "If another is wanted",
  ],
  retyped_saved: [
    "This is the audio of a text that differs only in quotation marks, blanks or Unicode form; nothing new was sent.",
    "If it is wanted anew",
  ],
  respelled: [
    "This is what was made of this text before its pronunciations changed.",
    "Only if the user wants it spoken anew",
  ],
};

function describeKinship(kinship: Kinship, take: number): Wording {
  const [what, condition] = KINSHIP_SENTENCES[kinship];
  return {
    assistant: `${what} ${condition}: the same call with take ${take + 1}, which is paid for.`,
    terminal: `${what} With --take ${take + 1} it is made anew, which is paid for.`,
  };
}

/** Returns notes about rows of this request under other API keys, whose tasks this account does not know. */
function describeOtherKeys(others: readonly RequestRow[]): string[] {
  if (others.every(({ status }) => status === "waiting")) return [];
  return others.some(({ task_id }) => task_id !== null)
    ? [
        "The ledger holds an earlier attempt at this under another API key; this account does not know it, so this call made a task of its own.",
      ]
    : [
        "The ledger holds an earlier attempt at this under another API key, whose answer was never seen. If that key is of the same account, this is the very task that it made, paid for once; if not, this call made a task of its own.",
      ];
}

interface Resolved {
  readonly fresh: RequestRow;
  /** Unchanged audio of the request on this machine, under whichever API key, with its row. */
  readonly saved: { readonly row: RequestRow; readonly file: FileRow } | null;
  readonly notes: readonly Wording[];
}

/** Looks for audio that is here, and for a task that another API key of this machine has made. */
async function resolve(
  context: RequestContext,
  prepared: PreparedRequest,
  fileName: string | null,
  signal: AbortSignal,
  deadline: Deadline,
): Promise<Resolved> {
  const { deps } = context;
  const { ledger } = deps;
  const fresh = buildNewRequest(ledger, prepared, true);
  const rows = await findRequestsByFingerprint(ledger, prepared.fingerprint);
  const own = rows.find(({ id }) => id === fresh.id);
  const isOwnOpen = own?.is_open === 1;
  const { file } = isOwnOpen ? { file: null } : await findOrReopenAudio(deps, rows, fileName);
  const row = file === null ? undefined : rows.find(({ id }) => id === file.owner);
  if (file !== null && row !== undefined) return { fresh, saved: { row, file }, notes: [] };
  if (own !== undefined && own.status !== "waiting") return { fresh, saved: null, notes: [] };
  const others = rows.filter((other) => other !== own);
  for (const other of others) {
    const adopted = await fetchAdopted(deps, other, signal, deadline);
    if (adopted !== null) return { fresh: { ...adopted, is_listed: 1 }, saved: null, notes: [] };
  }
  const kin = own === undefined ? await findKinOfOtherKeys(context, fresh, signal, deadline) : null;
  return kin ?? { fresh, saved: null, notes: own === undefined ? describeOtherKeys(others) : [] };
}

/** Looks for nearly the same text among the requests of other API keys, whose audio or task can be used. */
async function findKinOfOtherKeys(
  { deps }: RequestContext,
  fresh: RequestRow,
  signal: AbortSignal,
  deadline: Deadline,
): Promise<Resolved | null> {
  const { ledger, clock } = deps;
  const { apiKeyId } = ledger.identity;
  const rows = await ledger.database.run((db) =>
    findRequestsByLoose(db, ledger, [fresh.loose ?? ""], "visible"),
  );
  for (const row of rows) {
    if (row.api_key_id === apiKeyId || row.fingerprint === fresh.fingerprint) continue;
    const kinship = decideKinship(row, fresh, false, clock.wallMs());
    if (kinship === null) continue;
    const notes = [describeKinship(kinship, fresh.take ?? 1)];
    const file = await findSavedAudio(deps, [row], null);
    if (file !== null) return { fresh, saved: { row, file }, notes };
    const adopted = await fetchAdopted(deps, row, signal, deadline);
    if (adopted !== null && adopted.status !== "failed")
      return { fresh: { ...adopted, is_listed: 1 }, saved: null, notes };
  }
  return null;
}

/** Makes a part of a narration appear in lists, because a call asks for it directly. */
async function markListed({ deps }: RequestContext, row: RequestRow): Promise<RequestRow> {
  if (row.is_listed === 1) return row;
  return await deps.ledger.database.tx(async (tx) => {
    await patchRequest(tx, row, { is_listed: 1 });
    return (await readRequest(tx, row.id)) ?? row;
  });
}

/**
 * Runs a request until its audio is saved, or returns a handle if the call's wait ends first.
 *
 * @throws AudioError for every refusal and failure; `task_failed` if the task failed during this call
 */
export async function generate(
  context: RequestContext,
  request: GenerateRequest,
  givenCall: Call,
): Promise<RequestView> {
  const { deps, driver, attendance } = context;
  const { ledger, clock } = deps;
  const beganMs = clock.steadyMs();
  const prepared = prepareRequest(ledger.identity.baseUrl, request);
  const call = startDeadline(givenCall, clock);
  const { fileName, mayReplace } = request;
  const resolved = await runWithinCall(deps, call, (signal) =>
    resolve(context, prepared, request.fileName, signal, call.deadline),
  );
  const olderName = mayReplace && fileName !== null ? chooseFileName(resolved.fresh, fileName) : null;
  const olderFile = olderName === null ? null : await findNameOwner(deps, olderName);
  const saveOptions: SaveOptions = { fileName, mayReplace, olderFile };
  const notes = [...prepared.notes, ...resolved.notes];
  if (resolved.saved !== null) {
    const row = await markListed(context, resolved.saved.row);
    return await deliver(context, row, resolved.saved.file, { replayed: true, notes }, saveOptions);
  }
  await deps.folder.ensureWritable();
  const name = await planName(deps, resolved.fresh, saveOptions);
  call.signal.throwIfAborted();
  const begun = await beginRequest(
    ledger,
    { ...resolved.fresh, ...name },
    {
      wish: { id: call.handle?.id, kind: call.handle === undefined ? "call" : "handle" },
      name,
      openedAtMs: call.handle?.openedAtMs,
      mayBeginAttempt: true,
    },
  );
  if (begun.kinship !== null) notes.push(describeKinship(begun.kinship, request.take));
  // The call of an MCP task that is resumed makes no attempt that it would not have made.
  driver.ensure(begun.row.id, { mayReplayFailed: call.handle === undefined || !begun.wasKnown });
  if (begun.wasUnderWay) driver.askAgain(begun.row.id);
  const isRepeat = call.handle === undefined && begun.wasKnown && attendance.takeLikelyRepeat(begun.row.id);
  const waiting: CallWithDeadline = isRepeat
    ? { ...call, deadline: new Deadline(clock, Math.min(REPEAT_WAIT_MS, call.deadline.leftMs)) }
    : call;
  const row = await attendance.attend(begun.row, {
    call: waiting,
    wishId: begun.wishId,
    mustDrive: true,
    isDone: (current) => isGenerated(context, current, call),
  });
  return await report(context, row, { begun, notes, saveOptions, beganMs });
}

/** Whether a call has nothing more to wait for. A call without a wait is content with a task id, or with a long hold. */
async function isGenerated({ deps, driver }: RequestContext, row: RequestRow, call: Call): Promise<boolean> {
  if (isOver(row)) return true;
  if (row.status === "saved") return (await findSavedAudio(deps, [row], row.file_name)) !== null;
  if (call.waitMs > 0) return false;
  if (row.task_id !== null) return true;
  const { hold, nowMs } = driver.describe(row);
  const leftMs = hold?.leftMs ?? (parseNote(row)?.untilMs ?? 0) - nowMs;
  return leftMs > SUBMISSION_RESPONSE_WAIT_MS;
}

interface Report {
  readonly begun: Begun;
  readonly notes: readonly Wording[];
  readonly saveOptions: SaveOptions;
  readonly beganMs: number;
}

async function report(
  context: RequestContext,
  row: RequestRow,
  { begun, notes, saveOptions, beganMs }: Report,
): Promise<RequestView> {
  const { deps, driver } = context;
  const wasAccepted = begun.row.task_id !== null && begun.row.status !== "failed";
  const replayed = wasAccepted || (row.task_id !== null && (begun.wasUnderWay || row.payer !== null));
  if (row.status === "saved") {
    const file = await findSavedAudio(deps, [row], saveOptions.fileName ?? row.file_name);
    if (file !== null) return await deliver(context, row, file, { replayed, notes }, saveOptions);
  }
  const error = restoreError(row);
  if (error !== null) throw await addEstimate(deps, error, row);
  if (row.status === "failed") throw taskFailedError(row);
  throwIfUnreachable(row, driver, deps.clock.steadyMs() - beganMs);
  return buildRequestView(row, { replayed, notes, activity: await findActivity(deps, row, driver) });
}

/** Reports saved audio, under the name that the call asks for. */
export async function deliver(
  { deps }: RequestContext,
  row: RequestRow,
  file: FileRow,
  facts: { readonly replayed: boolean; readonly notes?: readonly Wording[] },
  saveOptions: SaveOptions,
): Promise<RequestView> {
  const named = await saveUnderName(deps, row, file, saveOptions);
  return await buildSavedView(deps, row, { ...facts, file: named }, saveOptions);
}

/** Adds the estimated cost to a 402, by the lengths of earlier tasks. */
async function addEstimate(deps: RequestDeps, error: AudioError, row: RequestRow): Promise<AudioError> {
  const input = parseStoredInput(row);
  if (input === null || !isUnexplainedCreditError(error)) return error;
  const explained = explainCredits(error, input, await readCalibration(deps, input.voice));
  return explained.withIds({ idempotencyKey: getIdempotencyKey(row) ?? undefined });
}
