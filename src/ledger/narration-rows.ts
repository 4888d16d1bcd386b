/** Reads and writes the rows of narrations, their parts and their files. Every write states what it has read. */
import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { z } from "zod";
import { type Bill, readBill } from "./bills.ts";
import type { Db, Tx } from "./database.ts";
import { isVisible, type Ledger, listVisibleApiKeys, rememberApiKey } from "./ledger.ts";
import { insertFile } from "./request-rows.ts";
import type { FileRow, NarrationRow, PartRow, RequestRow, WishRow } from "./schema.ts";
import { addWish, listStandingWishes } from "./wishes.ts";

/** Why a narration ended early, or why the audio of a part cannot be joined. */
export interface StoredProblem {
  readonly code: string;
  readonly message: string;
}

const problemSchema = z.object({ code: z.string(), message: z.string() });

/** Parses a column with a problem; `null` if there is none. A damaged one is shown as it is. */
export function parseProblem(column: string | null): StoredProblem | null {
  if (column === null) return null;
  try {
    return problemSchema.parse(JSON.parse(column));
  } catch {
    return { code: "unexpected_response", message: column };
  }
}

const STOPPED: StoredProblem = { code: "stopped", message: "It was stopped, as asked for." };
const CANCELLED: StoredProblem = {
  code: "cancelled",
  message: "It was cancelled: nothing more is created. What was accepted is saved.",
};

/** Rows per statement, because the number of parameters is limited. */
const ROWS_AT_ONCE = 500;

function chunk<T>(all: readonly T[]): T[][] {
  const chunks: T[][] = [];
  for (let from = 0; from < all.length; from += ROWS_AT_ONCE)
    chunks.push(all.slice(from, from + ROWS_AT_ONCE));
  return chunks;
}

// ---- what the request of a part has come to ----

/** Long texts are left out, because a round reads these columns many times. */
const TASK_COLUMNS = [
  "id",
  "api_key_id",
  "fingerprint",
  "attempt",
  "status",
  "maybe",
  "task_id",
  "charged_credits",
  "audio_seconds",
  "output_seconds",
  "output_rate_hz",
  "output_format",
  "failure_code",
  "failure_message",
  "error",
  "error_code",
  "note",
  "payer",
  "payer_run",
  "owner",
  "lease_until_steady_ms",
  "finished_at_ms",
  "is_open",
] as const satisfies ReadonlyArray<keyof RequestRow>;

/** The request that speaks a part, under one of the API keys of this machine. */
export interface PartTask extends Pick<RequestRow, (typeof TASK_COLUMNS)[number]> {
  /** Whether a living process drives it. */
  readonly isDriven: boolean;
  /** The attempts that this run of the narration has paid for and that have failed. */
  readonly failures: Failures;
}

export interface Failures {
  readonly count: number;
  /** What the dearest of them cost. */
  readonly mostCredits: number;
}
const NO_FAILURES: Failures = { count: 0, mostCredits: 0 };

type TaskRow = Pick<RequestRow, (typeof TASK_COLUMNS)[number]>;

async function selectTasks(
  db: Db,
  keys: readonly string[],
  fingerprints: readonly string[],
): Promise<TaskRow[]> {
  const rows: TaskRow[] = [];
  for (const some of chunk(fingerprints)) {
    const found = await db
      .selectFrom("agm_task")
      .select(TASK_COLUMNS)
      .where("fingerprint", "in", some)
      .where("api_key_id", "in", [...keys])
      .execute();
    rows.push(...found);
  }
  return rows;
}

const selectTasksOfParts = (db: Db, keys: readonly string[], narrationId: string): Promise<TaskRow[]> =>
  db
    .selectFrom("agm_task")
    .select(TASK_COLUMNS)
    .where("fingerprint", "in", (eb) =>
      eb.selectFrom("agm_part").select("fingerprint").where("narration", "=", narrationId),
    )
    .where("api_key_id", "in", [...keys])
    .execute();

/** Counts by request what has failed in this run. */
async function readFailures(
  db: Db,
  { id, run }: NarrationRow,
  requests: readonly string[] | null,
): Promise<Map<string, Failures>> {
  const failures = new Map<string, Failures>();
  for (const some of requests === null ? [null] : chunk(requests)) {
    let select = db
      .selectFrom("agm_attempt")
      .select([
        "request",
        sql<number>`COUNT(*)`.as("count"),
        sql<number>`MAX(COALESCE(charged_credits, 150))`.as("most"),
      ])
      .where("payer", "=", id)
      .where("payer_run", "=", run)
      .where("status", "=", "failed");
    if (some !== null) select = select.where("request", "in", some);
    for (const { request, count, most } of await select.groupBy("request").execute())
      failures.set(request, { count: Number(count), mostCredits: Number(most) });
  }
  return failures;
}

/** Requests by the fingerprint of the parts that they speak. */
export type TasksByFingerprint = ReadonlyMap<string, readonly PartTask[]>;

async function readTasks(
  tx: Tx,
  ledger: Ledger,
  nowSteadyMs: number,
  narration: NarrationRow,
  fingerprints: readonly string[] | null,
): Promise<TasksByFingerprint> {
  const keys = await listVisibleApiKeys(tx, ledger);
  const rows =
    fingerprints === null
      ? await selectTasksOfParts(tx, keys, narration.id)
      : await selectTasks(tx, keys, fingerprints);
  const failed = rows.filter(({ status, attempt }) => status === "failed" || attempt > 1).map(({ id }) => id);
  const failures = await readFailures(tx, narration, fingerprints === null ? null : failed);
  const tasks = new Map<string, PartTask[]>();
  for (const row of rows) {
    const task = {
      ...row,
      isDriven: ledger.database.isHeld(row, nowSteadyMs),
      failures: failures.get(row.id) ?? NO_FAILURES,
    };
    const others = tasks.get(row.fingerprint);
    if (others === undefined) tasks.set(row.fingerprint, [task]);
    else others.push(task);
  }
  return tasks;
}

// ---- reading ----

const selectNarrations = (db: Db, ledger: Ledger) =>
  db
    .selectFrom("agm_narration")
    .selectAll()
    .where("base_url", "=", ledger.identity.baseUrl)
    .where(isVisible(ledger, "agm_narration.api_key_id"));

export const findNarration = (ledger: Ledger, id: string): Promise<NarrationRow | undefined> =>
  ledger.database.run((db) => selectNarrations(db, ledger).where("id", "=", id).executeTakeFirst());

/** Finds the narration of a plan; the one of the own API key first. */
export const findNarrationByPlan = (ledger: Ledger, planHash: string): Promise<NarrationRow | undefined> =>
  ledger.database.run((db) =>
    selectNarrations(db, ledger)
      .where("plan_hash", "=", planHash)
      .orderBy((order) => order("api_key_id", "=", ledger.identity.apiKeyId), "desc")
      .orderBy("created_at_ms")
      .executeTakeFirst(),
  );

export const listNewestNarrations = (ledger: Ledger, limit: number): Promise<NarrationRow[]> =>
  ledger.database.run((db) =>
    selectNarrations(db, ledger).orderBy("created_at_ms", "desc").orderBy("id").limit(limit).execute(),
  );

const selectParts = (db: Db, id: string): Promise<PartRow[]> =>
  db.selectFrom("agm_part").selectAll().where("narration", "=", id).orderBy("position").execute();

/** Lists the parts of a narration in reading order. */
export const listParts = (ledger: Ledger, id: string): Promise<PartRow[]> =>
  ledger.database.run((db) => selectParts(db, id));

/** Everything that an answer about a narration is computed from. */
export interface NarrationSnapshot {
  readonly narration: NarrationRow;
  /** In reading order. */
  readonly parts: readonly PartRow[];
  readonly tasks: TasksByFingerprint;
  readonly bill: Bill;
  /** Whether it runs and a living process wants it. */
  readonly isWanted: boolean;
  /** Whether a standing wish lets files take the place of others. */
  readonly mayReplace: boolean;
  /** The newest first. */
  readonly files: readonly FileRow[];
}

const selectFiles = (db: Db, owner: string): Promise<FileRow[]> =>
  db.selectFrom("agm_file").selectAll().where("owner", "=", owner).orderBy("saved_at_ms", "desc").execute();

const selectNarration = (db: Db, id: string): Promise<NarrationRow | undefined> =>
  db.selectFrom("agm_narration").selectAll().where("id", "=", id).executeTakeFirst();

const describeWishes = (narration: NarrationRow, wishes: readonly WishRow[]) => ({
  isWanted: narration.status === "running" && wishes.length > 0,
  mayReplace: wishes.some(({ replaces }) => replaces === 1),
});

/** Reads a narration with all its parts; `undefined` if its row is gone. */
export const readNarration = (ledger: Ledger, id: string): Promise<NarrationSnapshot | undefined> =>
  ledger.database.snapshot(async (tx, nowSteadyMs) => {
    const narration = await selectNarration(tx, id);
    if (narration === undefined) return undefined;
    return {
      narration,
      parts: await selectParts(tx, id),
      tasks: await readTasks(tx, ledger, nowSteadyMs, narration, null),
      bill: await readBill(tx, id),
      ...describeWishes(narration, await listStandingWishes(tx, ledger, nowSteadyMs, id)),
      files: await selectFiles(tx, id),
    };
  });

/** What one round of a narration reads. */
export interface RoundRead extends Omit<NarrationSnapshot, "parts" | "bill" | "files"> {
  /** Whether this process drives the narration. */
  readonly isMine: boolean;
  /** Present if the parts were read again, and then `tasks` has all of them. */
  readonly parts: readonly PartRow[] | null;
}

/** What a round knows already, so that it need not read everything again. */
export interface KnownParts {
  /** The revision of the narration at which the parts were read; `null` to read them again. */
  readonly revision: number | null;
  /** The fingerprints whose requests may have changed. */
  readonly openFingerprints: readonly string[];
}

/** Reads what has changed in a narration; `undefined` if its row is gone. */
export const readRound = (ledger: Ledger, id: string, known: KnownParts): Promise<RoundRead | undefined> =>
  ledger.database.snapshot(async (tx, nowSteadyMs) => {
    const narration = await selectNarration(tx, id);
    if (narration === undefined) return undefined;
    const areKnown = narration.revision === known.revision;
    const fingerprints = areKnown ? known.openFingerprints : null;
    return {
      narration,
      isMine: narration.owner === ledger.identity.processId,
      parts: areKnown ? null : await selectParts(tx, id),
      tasks: await readTasks(tx, ledger, nowSteadyMs, narration, fingerprints),
      ...describeWishes(narration, await listStandingWishes(tx, ledger, nowSteadyMs, id)),
    };
  });

/** How far a narration is. */
export interface NarrationProgress {
  readonly narration: NarrationRow;
  readonly isWanted: boolean;
  readonly savedPartCount: number;
  readonly totalPartCount: number;
  /** The parts that this run has paid for and saved, and when the last of them ended. */
  readonly savedInRunCount: number;
  readonly lastSavedAtMs: number | null;
  readonly chargedCredits: number;
}

/** Counts the saved parts of narrations, which this process may see. */
async function countParts(tx: Tx, ledger: Ledger, id: string) {
  const keys = await listVisibleApiKeys(tx, ledger);
  return await tx
    .selectFrom("agm_part")
    .select((eb) => [
      eb.fn.countAll<number>().as("total"),
      sql<number | null>`SUM(CASE WHEN agm_part.problem IS NULL AND ${eb.exists(
        eb
          .selectFrom("agm_task")
          .select("agm_task.id")
          .whereRef("agm_task.fingerprint", "=", "agm_part.fingerprint")
          .where("agm_task.status", "=", "saved")
          .where("agm_task.api_key_id", "in", keys),
      )} THEN 1 ELSE 0 END)`.as("saved"),
    ])
    .where("narration", "=", id)
    .executeTakeFirstOrThrow();
}

/** Reads how far a narration is, without its parts; `undefined` if its row is gone. */
export const readProgress = (ledger: Ledger, id: string): Promise<NarrationProgress | undefined> =>
  ledger.database.snapshot(async (tx, nowSteadyMs) => {
    const narration = await selectNarration(tx, id);
    if (narration === undefined) return undefined;
    const { total, saved } = await countParts(tx, ledger, id);
    const ofRun = await tx
      .selectFrom("agm_attempt")
      .select([sql<number>`COUNT(*)`.as("count"), sql<number | null>`MAX(finished_at_ms)`.as("lastAtMs")])
      .where("payer", "=", id)
      .where("payer_run", "=", narration.run)
      .where("status", "=", "saved")
      .executeTakeFirstOrThrow();
    const wishes = await listStandingWishes(tx, ledger, nowSteadyMs, id);
    return {
      narration,
      isWanted: describeWishes(narration, wishes).isWanted,
      savedPartCount: Number(saved ?? 0),
      totalPartCount: Number(total),
      savedInRunCount: Number(ofRun.count),
      lastSavedAtMs: ofRun.lastAtMs,
      chargedCredits: (await readBill(tx, id)).charged,
    };
  });

/** Reads what a narration has cost. */
export const readNarrationBill = (ledger: Ledger, id: string): Promise<Bill> =>
  ledger.database.run((db) => readBill(db, id));

/** Reads whether a narration runs and a living process wants it, and nothing else; `undefined` if its row is gone. */
export const readStanding = (
  ledger: Ledger,
  id: string,
): Promise<Pick<NarrationSnapshot, "narration" | "isWanted"> | undefined> =>
  ledger.database.snapshot(async (tx, nowSteadyMs) => {
    const narration = await selectNarration(tx, id);
    if (narration === undefined) return undefined;
    const wishes = await listStandingWishes(tx, ledger, nowSteadyMs, id);
    return { narration, isWanted: describeWishes(narration, wishes).isWanted };
  });

/** Reads the requests of fingerprints that no row of the narration has yet. */
export const readTasksOf = (
  ledger: Ledger,
  narration: NarrationRow,
  fingerprints: readonly string[],
): Promise<TasksByFingerprint> =>
  ledger.database.snapshot((tx, nowSteadyMs) => readTasks(tx, ledger, nowSteadyMs, narration, fingerprints));

// ---- texts that are nearly those of other narrations ----

/**
 * Finds the begun narration of which a text most likely is a newer version: of those that share the most parts, the
 * one that was started last.
 */
export async function findPredecessor(
  ledger: Ledger,
  inputs: readonly string[],
  exceptId: string,
): Promise<string | null> {
  const found = new Map<string, { shared: number; readonly startedAtMs: number }>();
  for (const some of chunk([...new Set(inputs)])) {
    const rows = await ledger.database.run((db) =>
      db
        .selectFrom("agm_part")
        .innerJoin("agm_narration", "agm_narration.id", "agm_part.narration")
        .select([
          "agm_narration.id",
          "agm_narration.started_at_ms",
          sql<number>`COUNT(DISTINCT agm_part.input)`.as("shared"),
        ])
        .where("agm_part.input", "in", some)
        .where("agm_narration.status", "!=", "planned")
        .where("agm_narration.id", "!=", exceptId)
        .where(isVisible(ledger, "agm_narration.api_key_id"))
        .groupBy(["agm_narration.id", "agm_narration.started_at_ms"])
        .execute(),
    );
    for (const { id, started_at_ms: startedAtMs, shared } of rows)
      found.set(id, { startedAtMs, shared: Number(shared) + (found.get(id)?.shared ?? 0) });
  }
  const [best] = [...found].sort(([, a], [, b]) => b.shared - a.shared || b.startedAtMs - a.startedAtMs);
  return best?.[0] ?? null;
}

/** Finds running narrations all of whose parts differ at most in typing from those of a text, with their parts. */
export const findRetypedNarrations = (
  ledger: Ledger,
  looseParts: readonly string[],
): Promise<Array<{ readonly narration: NarrationRow; readonly parts: readonly PartRow[] }>> =>
  ledger.database.snapshot(async (tx, nowSteadyMs) => {
    const candidates = await selectNarrations(tx, ledger)
      .where("status", "=", "running")
      .where("id", "in", (eb) =>
        eb
          .selectFrom("agm_part")
          .select("narration")
          .where("loose", "=", looseParts[0] ?? "")
          .where("position", "=", 0),
      )
      .execute();
    const found: Array<{ readonly narration: NarrationRow; readonly parts: readonly PartRow[] }> = [];
    for (const narration of candidates) {
      const parts = await selectParts(tx, narration.id);
      const isSame =
        parts.length === looseParts.length && parts.every(({ loose }, i) => loose === looseParts[i]);
      if (!isSame) continue;
      const wishes = await listStandingWishes(tx, ledger, nowSteadyMs, narration.id);
      if (wishes.length > 0) found.push({ narration, parts });
    }
    return found;
  });

/** A paid request that differs from a part's at most in typing or pronunciations. */
export interface NearlyEqualRequest
  extends Pick<RequestRow, "id" | "fingerprint" | "body" | "written" | "status" | "finished_at_ms"> {
  readonly position: number;
}

/** Finds requests that were paid for, or are under way, and that are nearly those of parts which were not paid for. */
export const findNearlyEqualRequests = (ledger: Ledger, id: string): Promise<NearlyEqualRequest[]> =>
  ledger.database.run((db) =>
    db
      .selectFrom("agm_part")
      .innerJoin("agm_task", (join) =>
        join
          .onRef("agm_task.loose", "=", "agm_part.loose")
          .onRef("agm_task.fingerprint", "!=", "agm_part.fingerprint"),
      )
      .select([
        "agm_part.position",
        "agm_task.id",
        "agm_task.fingerprint",
        "agm_task.body",
        "agm_task.written",
        "agm_task.status",
        "agm_task.finished_at_ms",
      ])
      .where("agm_part.narration", "=", id)
      .whereRef("agm_part.input", "=", "agm_part.fingerprint")
      .where("agm_task.api_key_id", "=", ledger.identity.apiKeyId)
      .where((eb) =>
        eb.or([eb("agm_task.status", "in", ["succeeded", "saved"]), eb("agm_task.is_open", "=", 1)]),
      )
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom("agm_task as own")
              .select("own.id")
              .whereRef("own.fingerprint", "=", "agm_part.fingerprint")
              .where((or) =>
                or.or([or("own.status", "in", ["succeeded", "saved"]), or("own.is_open", "=", 1)]),
              ),
          ),
        ),
      )
      .orderBy("agm_part.position")
      .execute(),
  );

/** Lists the begun narrations that have requests as parts, the newest first. */
export async function listNarrationsWith(
  ledger: Ledger,
  fingerprints: readonly string[],
  exceptId: string,
): Promise<string[]> {
  const rows = await ledger.database.run((db) =>
    selectNarrations(db, ledger)
      .where("id", "in", (eb) =>
        eb
          .selectFrom("agm_part")
          .select("narration")
          .where("fingerprint", "in", fingerprints.slice(0, ROWS_AT_ONCE)),
      )
      .where("status", "!=", "planned")
      .where("id", "!=", exceptId)
      .orderBy("started_at_ms", "desc")
      .execute(),
  );
  return rows.map(({ id }) => id);
}

// ---- writing: what calls want ----

/**
 * Stores a narration with its parts. If the narration is known and was begun, changes nothing. If it is only planned,
 * the parts get the choices of this call, because nobody has agreed to the others.
 */
export const storeNarration = (
  ledger: Ledger,
  narration: NarrationRow,
  parts: readonly PartRow[],
): Promise<NarrationRow> =>
  ledger.database.tx(async (tx) => {
    await rememberApiKey(tx, ledger);
    await tx
      .insertInto("agm_narration")
      .values(narration)
      .onConflict((conflict) => conflict.column("id").doNothing())
      .execute();
    const { id } = narration;
    await ledger.database.lockRow(tx, "agm_narration", id);
    const stored = await selectNarration(tx, id);
    if (stored === undefined) throw new Error("a row was deleted that nothing deletes");
    if (stored.status !== "planned") return stored;
    const known = await selectParts(tx, id);
    const isSame =
      known.length === parts.length &&
      known.every(({ fingerprint }, i) => fingerprint === parts[i]?.fingerprint);
    if (!isSame) {
      await tx.deleteFrom("agm_part").where("narration", "=", id).execute();
      for (const some of chunk(parts)) await tx.insertInto("agm_part").values(some).execute();
    }
    const { title, predecessor } = narration;
    await tx.updateTable("agm_narration").set({ title, predecessor }).where("id", "=", id).execute();
    return { ...stored, title, predecessor };
  });

/** What a call wants of a narration. */
export interface NarrationWant {
  /** The limit; `null` if the call allows no new cost, and then the narration is not started. */
  readonly maxCredits: number | null;
  /** `null` keeps what is stored. */
  readonly fileName: string | null;
  readonly skipsFailed: boolean | null;
  /** Rows of parts with changed choices. */
  readonly choices: readonly PartRow[];
  readonly mayReplace: boolean;
  /** `self` for a call that returns without waiting. */
  readonly wishKind: WishRow["kind"];
  /** The wish of a call that is answered as an MCP task. */
  readonly handleId: string | null;
  /** The statuses in which the call has seen the narration; nothing is written if it has another one. */
  readonly from: ReadonlyArray<NarrationRow["status"]>;
}

/**
 * Stores what a call wants, with its wish, in one transaction. A limit starts the narration, unless it runs: a new run
 * begins, and the errors of earlier runs are forgotten.
 *
 * @returns the id of the wish; `null` if nothing was written
 */
export function wantNarration(ledger: Ledger, id: string, want: NarrationWant): Promise<string | null> {
  // Chosen here, because the transaction may run again after its first commit took effect.
  const wishId = want.handleId ?? randomUUID();
  return ledger.database.tx(async (tx, nowSteadyMs) => {
    await ledger.database.lockRow(tx, "agm_narration", id);
    const before = await selectNarration(tx, id);
    if (before === undefined || !want.from.includes(before.status)) return null;
    const starts = want.maxCredits !== null && before.status !== "running";
    await tx
      .updateTable("agm_narration")
      .set({
        revision: before.revision + 1,
        ...(want.fileName === null ? {} : { file_name: want.fileName }),
        ...(want.skipsFailed === null ? {} : { skip_failed: Number(want.skipsFailed) }),
        ...(want.maxCredits === null ? {} : { max_credits: want.maxCredits }),
        ...(starts ? buildStart(before) : {}),
        // The call of an MCP task that is resumed after this time has had its start, whatever came of it.
        ...(starts || want.handleId !== null ? { started_at_ms: ledger.clock.wallMs() } : {}),
      })
      .where("id", "=", id)
      .execute();
    if (starts) await tx.updateTable("agm_part").set({ problem: null }).where("narration", "=", id).execute();
    if (want.maxCredits !== null) await forgetErrors(tx, ledger, nowSteadyMs, id);
    for (const { position, fingerprint, take, speed } of want.choices) {
      await tx
        .updateTable("agm_part")
        .set({ fingerprint, take, speed, problem: null })
        .where("narration", "=", id)
        .where("position", "=", position)
        .execute();
    }
    // The newest call of a process stands for those that have returned, so that its cancellation ends what they wanted.
    await tx
      .deleteFrom("agm_wish")
      .where("target", "=", id)
      .where("process", "=", ledger.identity.processId)
      .where("kind", "=", "self")
      .execute();
    const { wishKind: kind, mayReplace } = want;
    return await addWish(tx, ledger, nowSteadyMs, { id: wishId, target: id, kind, mayReplace });
  });
}

const buildStart = ({ run }: NarrationRow): Partial<NarrationRow> => ({
  status: "running",
  run: run + 1,
  problem: null,
});

/** Forgets why nobody works on the requests of parts, unless somebody does. */
async function forgetErrors(tx: Tx, ledger: Ledger, nowSteadyMs: number, id: string): Promise<void> {
  const rows = await tx
    .selectFrom("agm_part")
    .innerJoin("agm_request", "agm_request.fingerprint", "agm_part.fingerprint")
    .select(["agm_request.id", "agm_request.owner", "agm_request.lease_until_steady_ms"])
    .where("agm_part.narration", "=", id)
    .where("agm_request.api_key_id", "=", ledger.identity.apiKeyId)
    .where("agm_request.error_code", "is not", null)
    .execute();
  const free = rows.filter((row) => !ledger.database.isHeld(row, nowSteadyMs)).map((row) => row.id);
  for (const some of chunk(free))
    await tx
      .updateTable("agm_request")
      .set({ error: null, error_code: null })
      .where("id", "in", some)
      .execute();
}

/** Changes the file name of a narration, which costs nothing. */
export const renameNarration = (ledger: Ledger, id: string, fileName: string): Promise<unknown> =>
  ledger.database.run((db) =>
    db
      .updateTable("agm_narration")
      .set({ file_name: fileName, revision: sql<number>`revision + 1` })
      .where("id", "=", id)
      .execute(),
  );

/** Notes which sentences that need consent an answer has told. */
export const noteTold = (ledger: Ledger, id: string, sentences: readonly string[]): Promise<unknown> =>
  ledger.database.run((db) =>
    db
      .updateTable("agm_narration")
      .set({ told: JSON.stringify(sentences) })
      .where("id", "=", id)
      .execute(),
  );

/**
 * Withdraws the wish of a call, whichever process has made it. Stops the narration if no other wish stands.
 *
 * @returns the id of the narration; `null` if there is no such wish
 */
export function cancelWish(ledger: Ledger, wishId: string): Promise<string | null> {
  let done: string | null = null;
  return ledger.database.tx(async (tx, nowSteadyMs) => {
    const wish = await tx.selectFrom("agm_wish").select("target").where("id", "=", wishId).executeTakeFirst();
    // The first run of this transaction may have taken effect.
    if (wish === undefined) return done;
    const narrationId = wish.target;
    await ledger.database.lockRow(tx, "agm_narration", narrationId);
    await tx.deleteFrom("agm_wish").where("id", "=", wishId).execute();
    const others = await listStandingWishes(tx, ledger, nowSteadyMs, narrationId);
    if (others.length === 0) await stop(tx, narrationId, CANCELLED);
    done = narrationId;
    return done;
  });
}

const stop = (tx: Tx, id: string, problem: StoredProblem): Promise<unknown> =>
  tx
    .updateTable("agm_narration")
    .set({ status: "stopped", problem: JSON.stringify(problem) })
    .where("id", "=", id)
    .where("status", "=", "running")
    .execute();

/** Stops a running narration for everybody. */
export const stopNarration = (ledger: Ledger, id: string): Promise<unknown> =>
  ledger.database.tx(async (tx) => {
    await ledger.database.lockRow(tx, "agm_narration", id);
    await stop(tx, id, STOPPED);
    await tx.deleteFrom("agm_wish").where("target", "=", id).execute();
  });

// ---- writing: what rounds find ----

/**
 * Takes the lease of a narration, unless another living process has it.
 *
 * @returns whether this process has it now
 */
export const takeNarration = (ledger: Ledger, id: string): Promise<boolean> =>
  ledger.database.tx(async (tx, nowSteadyMs) => {
    await ledger.database.lockRow(tx, "agm_narration", id);
    const lease = await selectNarration(tx, id);
    const { processId } = ledger.identity;
    if (lease === undefined) return false;
    if (lease.owner !== processId && ledger.database.isHeld(lease, nowSteadyMs)) return false;
    await tx
      .updateTable("agm_narration")
      .set({ owner: processId, lease_until_steady_ms: nowSteadyMs + ledger.database.leaseMs })
      .where("id", "=", id)
      .execute();
    return true;
  });

/** Gives the lease of a narration back, if this process has it. */
export const releaseNarration = (ledger: Ledger, id: string): Promise<unknown> =>
  ledger.database.run((db) =>
    db
      .updateTable("agm_narration")
      .set({ owner: null, lease_until_steady_ms: 0 })
      .where("id", "=", id)
      .where("owner", "=", ledger.identity.processId)
      .execute(),
  );

export interface NarrationEnd {
  readonly status: "stopped" | "finished";
  /** `undefined` keeps the problem that is stored. */
  readonly problem: StoredProblem | null | undefined;
  /** What the round has read. A call that came after it is not passed over. */
  readonly read: Pick<NarrationRow, "status" | "revision">;
}

/**
 * Ends a narration that this process drives: nobody wants it any more.
 *
 * @returns false if the row has changed since it was read
 */
export const endNarration = (
  ledger: Ledger,
  id: string,
  { status, problem, read }: NarrationEnd,
): Promise<boolean> =>
  ledger.database.tx(async (tx) => {
    await ledger.database.lockRow(tx, "agm_narration", id);
    const ended = await tx
      .updateTable("agm_narration")
      .set({ status, ...(problem === undefined ? {} : { problem: problem && JSON.stringify(problem) }) })
      .where("id", "=", id)
      .where("status", "=", read.status)
      .where("revision", "=", read.revision)
      .where("owner", "=", ledger.identity.processId)
      .returning("id")
      .executeTakeFirst();
    if (ended === undefined) return false;
    await tx.deleteFrom("agm_wish").where("target", "=", id).execute();
    return true;
  });

/** Notes why the audio of parts cannot be joined. Writes nothing for a part that has another request by now. */
export const setPartProblems = (
  ledger: Ledger,
  problems: ReadonlyArray<{ readonly part: PartRow; readonly problem: StoredProblem }>,
): Promise<unknown> =>
  ledger.database.tx(async (tx) => {
    for (const { part, problem } of problems) {
      await tx
        .updateTable("agm_part")
        .set({ problem: JSON.stringify(problem) })
        .where("narration", "=", part.narration)
        .where("position", "=", part.position)
        .where("fingerprint", "=", part.fingerprint)
        .execute();
    }
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
    if (damagedSha256 !== null)
      await tx.deleteFrom("agm_file").where("owner", "=", id).where("sha256", "=", damagedSha256).execute();
    await tx
      .updateTable("agm_attempt")
      .set({ status: "succeeded" })
      .where("request", "=", id)
      .where("n", "=", attempt)
      .where("status", "=", "saved")
      .execute();
  });

// ---- files ----

/** Lists the files of one chapter of a narration, the newest first. */
export const listChapterFiles = (ledger: Ledger, owner: string, chapter: number | null): Promise<FileRow[]> =>
  ledger.database.run((db) =>
    db
      .selectFrom("agm_file")
      .selectAll()
      .where("owner", "=", owner)
      .where("chapter", chapter === null ? "is" : "=", chapter)
      .orderBy("saved_at_ms", "desc")
      .execute(),
  );

/** Lists the narrations that have saved a file at a path, the newest file first. */
export const findFileOwners = (ledger: Ledger, path: string): Promise<NarrationRow[]> =>
  ledger.database.run((db) =>
    selectNarrations(db, ledger)
      .where("id", "in", (eb) => eb.selectFrom("agm_file").select("owner").where("path", "=", path))
      .orderBy("started_at_ms", "desc")
      .execute(),
  );

/** Notes a joined file and what lies beside it. */
export const saveFiles = (ledger: Ledger, files: readonly FileRow[]): Promise<unknown> =>
  ledger.database.tx(async (tx) => {
    for (const file of files) await insertFile(tx, file);
  });

/** Deletes rows of files that were removed or replaced. */
export const deleteFiles = (ledger: Ledger, files: readonly FileRow[]): Promise<unknown> =>
  ledger.database.tx(async (tx) => {
    for (const { owner, path, sha256 } of files) {
      await tx
        .deleteFrom("agm_file")
        .where("owner", "=", owner)
        .where("path", "=", path)
        .where("sha256", "=", sha256)
        .execute();
    }
  });
