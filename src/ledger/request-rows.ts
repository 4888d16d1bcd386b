/** Reads and writes the rows of requests, their attempts and their files. Every write states what it has read. */
import type { ExpressionBuilder, ExpressionWrapper, SqlBool } from "kysely";
import { type Db, splitRows, type Tx } from "./database.ts";
import { deleteFilesByHash } from "./file-rows.ts";
import { isVisible, LeaseLostError, type Ledger, listVisibleApiKeys, rememberApiKey } from "./ledger.ts";
import { isHeld, type OpenTransaction, runTransaction } from "./open-transaction.ts";
import {
  ATTEMPT_COLUMNS,
  type AttemptStatus,
  parseRequests,
  REQUEST_COLUMNS,
  type RequestRow,
  type Tables,
  type VIEW_COLUMNS,
} from "./schema.ts";

/** Columns to change of a request and of its current attempt. A new number of `attempt` makes a new row of it. */
export type RequestPatch = Partial<Omit<RequestRow, "id" | (typeof VIEW_COLUMNS)[number]>>;

/** The columns of an attempt of which nothing was sent. */
export const UNSENT_ATTEMPT = {
  status: "waiting",
  maybe: 0,
  send_id: null,
  sent_steady_ms: 0,
  task_id: null,
  charged_credits: null,
  refunded_credits: null,
  is_charge_told: 0,
  audio_seconds: null,
  output_format: null,
  output_rate_hz: null,
  output_seconds: null,
  failure_code: null,
  failure_message: null,
  is_paid: 1,
  payer: null,
  payer_run: 0,
  spent_at_ms: 0,
  accepted_at_ms: null,
  finished_at_ms: null,
  polled_steady_ms: 0,
} as const satisfies RequestPatch;

/** The columns of a request that nobody works on, and nobody has worked on. */
export const UNDRIVEN_REQUEST = {
  error_code: null,
  error: null,
  note: null,
  file_name: null,
  replaces: null,
  owner: null,
  lease_until_steady_ms: 0,
} as const satisfies RequestPatch;

/** The columns of a request that is not stored yet, with its first attempt. */
export const FRESH_REQUEST = {
  ...UNSENT_ATTEMPT,
  ...UNDRIVEN_REQUEST,
  attempt: 1,
  ...{ n: 1, spent: 0, is_open: 0, is_current: 1 },
} as const satisfies Partial<RequestRow>;

/** Returns the change that begins the next attempt of a request whose task has failed. */
export const buildNextAttempt = ({ attempt }: Pick<RequestRow, "attempt">): RequestPatch => ({
  ...UNSENT_ATTEMPT,
  attempt: attempt + 1,
  error_code: null,
  error: null,
  note: null,
});

function pickColumns<Column extends keyof RequestRow>(
  row: Partial<RequestRow>,
  columns: readonly Column[],
): Partial<Pick<RequestRow, Column>> {
  const picked: Partial<Pick<RequestRow, Column>> = {};
  for (const column of columns) if (column in row) picked[column] = row[column];
  return picked;
}

// ---- reading ----

/** Reads a request; `undefined` if it is not stored, or if its row is damaged. */
export const readRequest = async (db: Db, id: string): Promise<RequestRow | undefined> =>
  parseRequests(await db.selectFrom("agm_current_attempt").selectAll().where("id", "=", id).execute())[0];

/** Finds requests at this service that this process may see, those of its own API key first, then the eldest. */
const findVisible = async (
  ledger: Ledger,
  view: "agm_current_attempt" | "agm_request_attempt",
  column: "id" | "task_id" | "fingerprint",
  value: string,
): Promise<RequestRow[]> =>
  parseRequests(
    await ledger.database.run((db) =>
      db
        .selectFrom(view)
        .selectAll()
        .where(column, "=", value)
        .where("base_url", "=", ledger.identity.baseUrl)
        .where(isVisible(ledger, `${view}.api_key_id`))
        .orderBy((order) => order("api_key_id", "=", ledger.identity.apiKeyId), "desc")
        .orderBy("is_current", "desc")
        .orderBy("created_at_ms")
        .execute(),
    ),
  );

/** Finds the request of a handle. */
export const findRequest = async (ledger: Ledger, id: string): Promise<RequestRow | undefined> =>
  (await findVisible(ledger, "agm_current_attempt", "id", id))[0];

/** Finds the attempts, current or earlier, to which the service gave a task id. */
export const findAttemptsOfTask = (ledger: Ledger, taskId: string): Promise<RequestRow[]> =>
  findVisible(ledger, "agm_request_attempt", "task_id", taskId);

/** Finds the requests of a text, settings and take, one for each API key. */
export const findRequestsByFingerprint = (ledger: Ledger, fingerprint: string): Promise<RequestRow[]> =>
  findVisible(ledger, "agm_current_attempt", "fingerprint", fingerprint);

/** Finds requests whose text differs at most in typing or pronunciations, the newest first. */
export async function findRequestsByLoose(
  db: Db,
  ledger: Ledger,
  loose: readonly string[],
  apiKeys: "own" | "visible",
): Promise<RequestRow[]> {
  let select = db.selectFrom("agm_current_attempt").selectAll().where("loose", "in", loose);
  select =
    apiKeys === "own"
      ? select.where("api_key_id", "=", ledger.identity.apiKeyId)
      : select.where(isVisible(ledger, "agm_current_attempt.api_key_id"));
  return parseRequests(await select.orderBy("created_at_ms", "desc").execute());
}

/** Selects requests by the status of their current attempt, by the index of all attempts, which few rows match. */
export const hasRareStatus =
  (...statuses: readonly AttemptStatus[]) =>
  (
    eb: ExpressionBuilder<Tables, "agm_current_attempt">,
  ): ExpressionWrapper<Tables, "agm_current_attempt", SqlBool> =>
    eb.and([
      eb("id", "in", eb.selectFrom("agm_attempt").select("request").where("status", "in", statuses)),
      eb("status", "in", statuses),
    ]);

export interface ListQuery {
  readonly statuses: readonly AttemptStatus[] | null;
  readonly apiKeys: "own" | "visible";
  readonly includesParts?: boolean;
  readonly limit: number;
}

/** Statuses that few requests have, so that the index of statuses finds them. */
const RARE_STATUSES: ReadonlySet<AttemptStatus> = new Set([
  "waiting",
  "unresolved",
  "queued",
  "processing",
  "failed",
]);

/** Lists requests, the newest first. */
export async function listRequests(ledger: Ledger, query: ListQuery): Promise<RequestRow[]> {
  const { statuses, includesParts = false, limit } = query;
  const isRare = statuses?.every((status) => RARE_STATUSES.has(status)) === true;
  const lists = await ledger.database.run(async (db) => {
    const keys = query.apiKeys === "own" ? [ledger.identity.apiKeyId] : await listVisibleApiKeys(db, ledger);
    const rowsByKey: RequestRow[][] = [];
    // A query for each value of the index's first columns, so that its order is used however many rows there are.
    for (const [key, isListed] of keys.flatMap((each) =>
      (includesParts ? [1, 0] : [1]).map((listed) => [each, listed] as const),
    )) {
      let select = db
        .selectFrom("agm_current_attempt")
        .selectAll()
        .where("api_key_id", "=", key)
        .where("is_listed", "=", isListed)
        .where("base_url", "=", ledger.identity.baseUrl);
      if (statuses !== null)
        select = isRare ? select.where(hasRareStatus(...statuses)) : select.where("status", "in", statuses);
      rowsByKey.push(
        parseRequests(await select.orderBy("created_at_ms", "desc").orderBy("id").limit(limit).execute()),
      );
    }
    return rowsByKey;
  });
  const rows = lists.flat();
  return lists.length < 2 ? rows : rows.sort((a, b) => b.created_at_ms - a.created_at_ms).slice(0, limit);
}

/** Errors after which only a call that names the request tries again. */
const LASTING_ERRORS = ["not_found", "too_large", "unexpected_response"] as const;

/** Lists this API key's accepted tasks whose audio was never saved, and whose trouble may have passed. */
export const listResumable = (ledger: Ledger, limit: number): Promise<string[]> =>
  ledger.database.run(async (db) => {
    const rows = await db
      .selectFrom("agm_current_attempt")
      .select("id")
      .where(hasRareStatus("queued", "processing", "succeeded"))
      .where("api_key_id", "=", ledger.identity.apiKeyId)
      .where((eb) => eb.or([eb("error_code", "is", null), eb("error_code", "not in", [...LASTING_ERRORS])]))
      .orderBy("created_at_ms", "desc")
      .limit(limit)
      .execute();
    return rows.map((row) => row.id);
  });

// ---- writing ----

/**
 * Moves the rows of a request to a document, so that it can be made again under its key. The caller has found that they
 * cannot be read. Does nothing if there are none.
 */
export async function setAsideDamaged({ tx, ledger }: OpenTransaction, id: string): Promise<void> {
  const { log, clock } = ledger;
  const request = await tx.selectFrom("agm_request").selectAll().where("id", "=", id).executeTakeFirst();
  const attempts = await tx.selectFrom("agm_attempt").selectAll().where("request", "=", id).execute();
  if (request === undefined && attempts.length === 0) return;
  log.warn(`the row of request ${id} is damaged; it was set aside`);
  const document = { name: `damaged:${id}:${clock.wallMs()}`, value: JSON.stringify({ request, attempts }) };
  await tx
    .insertInto("agm_document")
    .values(document)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await tx.deleteFrom("agm_request").where("id", "=", id).execute();
  await tx.deleteFrom("agm_attempt").where("request", "=", id).execute();
}

/** Stores a request with its first attempt, unless it exists. */
export async function insertRequest({ tx, ledger }: OpenTransaction, request: RequestRow): Promise<void> {
  await rememberApiKey(tx, ledger);
  // The casts are sound, because `request` has every column.
  const row = pickColumns(request, REQUEST_COLUMNS) as Tables["agm_request"];
  await tx
    .insertInto("agm_request")
    .values(row)
    .onConflict((conflict) => conflict.column("id").doNothing())
    .execute();
  await insertAttempt(tx, request.id, request.attempt, request);
}

async function insertAttempt(tx: Tx, request: string, n: number, row: RequestPatch): Promise<void> {
  const attempt = { ...UNSENT_ATTEMPT, ...pickColumns(row, ATTEMPT_COLUMNS), request, n };
  await tx
    .insertInto("agm_attempt")
    .values(attempt)
    .onConflict((conflict) => conflict.columns(["request", "n"]).doNothing())
    .execute();
}

/** Notes that an answer names the charge of a request. Returns whether it is the first one. */
export const markChargeTold = (ledger: Ledger, request: string): Promise<boolean> =>
  ledger.database.run(async (db) => {
    const { numUpdatedRows } = await db
      .updateTable("agm_attempt")
      .set({ is_charge_told: 1 })
      .where("request", "=", request)
      .where("is_charge_told", "=", 0)
      .where("charged_credits", "is not", null)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  });

/**
 * Changes a request and its current attempt.
 *
 * @param owner if given, nothing is written unless this process drives the request
 * @returns false if the row is gone, or is driven by another process
 */
export async function patchRequest(
  tx: Tx,
  { id, attempt }: Pick<RequestRow, "id" | "attempt">,
  patch: RequestPatch,
  owner: string | null = null,
): Promise<boolean> {
  let update = tx
    .updateTable("agm_request")
    .set({ attempt, ...pickColumns(patch, REQUEST_COLUMNS) })
    .where("id", "=", id)
    .where("attempt", "=", attempt);
  if (owner !== null) update = update.where("owner", "=", owner);
  if ((await update.returning("id").executeTakeFirst()) === undefined) return false;
  const ofAttempt = pickColumns(patch, ATTEMPT_COLUMNS);
  const n = patch.attempt ?? attempt;
  if (n !== attempt) await insertAttempt(tx, id, n, ofAttempt);
  else if (Object.keys(ofAttempt).length > 0)
    await tx.updateTable("agm_attempt").set(ofAttempt).where("request", "=", id).where("n", "=", n).execute();
  return true;
}

const INDEXED_COLUMNS = ["status", "task_id", "payer", "spent_at_ms"] as const;

/** Leaves out what the row has already, because writing an indexed column writes its indexes, too, at every poll. */
function omitKnown(patch: RequestPatch, row: RequestRow): RequestPatch {
  if (patch.attempt !== undefined && patch.attempt !== row.attempt) return patch;
  const change = { ...patch };
  for (const column of INDEXED_COLUMNS) if (change[column] === row[column]) delete change[column];
  return change;
}

/**
 * Writes what the driver of a request knows, and renews its lease. A row that has vanished is stored again.
 *
 * @throws LeaseLostError if another process drives it now, or a newer attempt exists
 */
export async function writeAsDriver(
  open: OpenTransaction,
  row: RequestRow,
  patch: RequestPatch,
): Promise<RequestRow> {
  const { tx, ledger, nowSteadyMs } = open;
  const { processId } = ledger.identity;
  const lease = "owner" in patch ? {} : { lease_until_steady_ms: nowSteadyMs + ledger.database.leaseMs };
  const change = { ...omitKnown(patch, row), ...lease, updated_at_ms: ledger.clock.wallMs() };
  const isPatched = await patchRequest(tx, row, change, processId);
  const written = await readRequest(tx, row.id);
  if (isPatched && written !== undefined) return written;
  if (written !== undefined) throw new LeaseLostError("another process drives it");
  // Somebody has emptied the ledger, or a part of it: what is paid for is stored again.
  const restored = { ...row, owner: processId, ...change };
  await tx
    .deleteFrom("agm_attempt")
    .where("request", "=", row.id)
    .where("n", "=", restored.attempt)
    .execute();
  await insertRequest(open, restored);
  return (await readRequest(tx, row.id)) ?? row;
}

/** Writes what the driver of a request knows. See {@link writeAsDriver}. */
export const saveAsDriver = (ledger: Ledger, row: RequestRow, patch: RequestPatch): Promise<RequestRow> =>
  runTransaction(ledger, (open) => writeAsDriver(open, row, patch));

export interface Acquired {
  /** The row as it is now. */
  readonly row: RequestRow | undefined;
  /** Whether this process may drive it. */
  readonly isMine: boolean;
  /** The code of the error that an earlier start had left. */
  readonly earlierError: string | null;
}

/** Takes the lease of a request unless a living process has it. */
export const acquireRequest = (
  ledger: Ledger,
  id: string,
  change: Pick<RequestPatch, "error" | "error_code"> = {},
): Promise<Acquired> =>
  runTransaction(ledger, async (open) => {
    const { tx, nowSteadyMs } = open;
    await ledger.database.lockRow(tx, "agm_request", id);
    const row = await readRequest(tx, id);
    const { processId } = ledger.identity;
    const earlierError = row?.error_code ?? null;
    if (row === undefined) return { row, isMine: false, earlierError };
    if (row.owner !== processId && isHeld(open, row)) return { row, isMine: false, earlierError };
    const lease_until_steady_ms = nowSteadyMs + ledger.database.leaseMs;
    await patchRequest(tx, row, { ...change, owner: processId, lease_until_steady_ms });
    return { row: await readRequest(tx, id), isMine: true, earlierError };
  });

/** Gives the lease of a request back, if this process has it. */
export const releaseRequest = (ledger: Ledger, id: string): Promise<unknown> =>
  ledger.database.run((db) =>
    db
      .updateTable("agm_request")
      .set({ owner: null, lease_until_steady_ms: 0 })
      .where("id", "=", id)
      .where("owner", "=", ledger.identity.processId)
      .execute(),
  );

/** PostgreSQL knows no empty list. */
const toList = (ids: readonly string[]): readonly string[] => (ids.length === 0 ? [""] : ids);

/** What a process works on. */
export interface Driven {
  readonly requests: readonly string[];
  readonly narrations: readonly string[];
}

/**
 * Renews the leases of what this process works on, and its wishes. A lease that could not be given back while the
 * ledger was away lapses.
 *
 * @returns the ids of the requests that it still drives
 */
export const renewLeases = (ledger: Ledger, driven: Driven): Promise<Set<string>> =>
  ledger.database.tx(async (tx, nowSteadyMs) => {
    const lease = { lease_until_steady_ms: nowSteadyMs + ledger.database.leaseMs };
    const { processId } = ledger.identity;
    const requests = await tx
      .updateTable("agm_request")
      .set(lease)
      .where("owner", "=", processId)
      .where("id", "in", toList(driven.requests))
      .returning("id")
      .execute();
    await tx
      .updateTable("agm_narration")
      .set(lease)
      .where("owner", "=", processId)
      .where("id", "in", toList(driven.narrations))
      .execute();
    await tx.updateTable("agm_wish").set(lease).where("process", "=", processId).execute();
    return new Set(requests.map((row) => row.id));
  });

/**
 * Notes that the audio of a request is gone or damaged on this machine: it counts as not saved, so that it is fetched
 * again. Files that other machines have keep their rows.
 *
 * @param damagedSha256 the hash of a file that lies here and must not be used again; `null` if none does
 */
export const forgetAudio = (
  ledger: Ledger,
  { id, attempt }: Pick<RequestRow, "id" | "attempt">,
  damagedSha256: string | null,
): Promise<unknown> =>
  ledger.database.tx(async (tx) => {
    if (damagedSha256 !== null) await deleteFilesByHash(tx, id, damagedSha256);
    await tx
      .updateTable("agm_attempt")
      .set({ status: "succeeded" })
      .where("request", "=", id)
      .where("n", "=", attempt)
      .where("status", "=", "saved")
      .execute();
  });

/** Forgets why nobody works on requests. */
export async function clearErrors(tx: Tx, ids: readonly string[]): Promise<void> {
  for (const some of splitRows(ids))
    await tx
      .updateTable("agm_request")
      .set({ error: null, error_code: null })
      .where("id", "in", some)
      .execute();
}
