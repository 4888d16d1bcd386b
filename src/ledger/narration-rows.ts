/** Reads the rows of narrations, their parts and their files. */
import { sql } from "kysely";
import { z } from "zod";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { SUBMISSIONS_PER_WINDOW } from "../contract/service-limits.ts";
import { parseJson } from "../parse-json.ts";
import { type Bill, readBill } from "./bills.ts";
import { type Db, splitRows } from "./database.ts";
import { selectFiles } from "./file-rows.ts";
import { isVisible, type Ledger, listVisibleApiKeys } from "./ledger.ts";
import { buildLimitTiming } from "./limit-timing.ts";
import { isHeld, type OpenTransaction, runSnapshot } from "./open-transaction.ts";
import {
  ATTEMPT_COLUMNS,
  type AttemptStatus,
  type FileRow,
  isWhole,
  type NarrationRow,
  type PartRow,
  parseNarrations,
  REQUEST_COLUMNS,
  type RequestRow,
  VIEW_COLUMNS,
  type WishRow,
} from "./schema.ts";
import { listStandingWishes } from "./wishes.ts";

export const problemSchema = z.object({
  code: z.string(),
  message: z.string(),
  /** The message for a person at a shell; absent if the other one suits both. */
  terminal: z.string().optional(),
});
/** Why a narration ended early, or why the audio of a part cannot be joined. */
export type StoredProblem = Readonly<z.infer<typeof problemSchema>>;

/** Parses a column with a problem; `null` if there is none. A damaged one is shown as it is. */
export const parseProblem = (column: string | null): StoredProblem | null =>
  column === null
    ? null
    : (parseJson(problemSchema, column) ?? { code: "unexpected_response", message: column });

// ---- what the request of a part has come to ----

/** Long texts are left out, because a round reads these columns many times. */
type TaskRow = Omit<RequestRow, "body" | "asked" | "written">;
const isShortColumn = (column: string): column is keyof TaskRow =>
  !["body", "asked", "written"].includes(column);
const TASK_COLUMNS = [...REQUEST_COLUMNS, ...ATTEMPT_COLUMNS, ...VIEW_COLUMNS].filter(isShortColumn);

/** The request that speaks a part, under one of the API keys of this machine. */
export interface PartTask extends TaskRow {
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

/** Counts by request what has failed in this run. */
async function readFailures(db: Db, { id, run }: NarrationRow): Promise<Map<string, Failures>> {
  const failed = await db
    .selectFrom("agm_attempt")
    .select([
      "request",
      sql<number>`COUNT(*)`.as("count"),
      sql<number>`MAX(COALESCE(charged_credits, ${RESERVED_CREDITS}))`.as("mostCredits"),
    ])
    .where("payer", "=", id)
    .where("payer_run", "=", run)
    .where("status", "=", "failed")
    .groupBy("request")
    .execute();
  return new Map(failed.map(({ request, ...failures }) => [request, failures]));
}

/** Requests by the fingerprint of the parts that they speak. */
export type TasksByFingerprint = ReadonlyMap<string, readonly PartTask[]>;

async function readTasks(
  open: OpenTransaction,
  narration: NarrationRow,
  fingerprints: readonly string[],
): Promise<TasksByFingerprint> {
  const { tx, ledger } = open;
  const keys = await listVisibleApiKeys(tx, ledger);
  const failures = await readFailures(tx, narration);
  const tasks = new Map<string, PartTask[]>();
  for (const some of splitRows(fingerprints)) {
    const rows = await tx
      .selectFrom("agm_current_attempt")
      .select(TASK_COLUMNS)
      .where("fingerprint", "in", some)
      .where("api_key_id", "in", keys)
      .execute();
    // A damaged request counts as missing, so that its part is begun again: under its key, so it costs nothing.
    for (const row of rows.filter(isWhole)) {
      const task = {
        ...row,
        isDriven: isHeld(open, row),
        failures: failures.get(row.id) ?? NO_FAILURES,
      };
      tasks.set(row.fingerprint, [...(tasks.get(row.fingerprint) ?? []), task]);
    }
  }
  return tasks;
}

const listFingerprints = (parts: readonly PartRow[]): string[] => [
  ...new Set(parts.map(({ fingerprint }) => fingerprint)),
];

// ---- reading ----

/** Selects from the narrations that this process may see. */
export const selectNarrations = (db: Db, ledger: Ledger) =>
  db
    .selectFrom("agm_narration")
    .selectAll()
    .where("base_url", "=", ledger.identity.baseUrl)
    .where(isVisible(ledger, "agm_narration.api_key_id"));

export const findNarration = async (ledger: Ledger, id: string): Promise<NarrationRow | undefined> =>
  parseNarrations(
    await ledger.database.run((db) => selectNarrations(db, ledger).where("id", "=", id).execute()),
  )[0];

/** Finds the narration of a plan; the one of the own API key first. */
export const findNarrationByPlan = async (
  ledger: Ledger,
  planHash: string,
): Promise<NarrationRow | undefined> =>
  parseNarrations(
    await ledger.database.run((db) =>
      selectNarrations(db, ledger)
        .where("plan_hash", "=", planHash)
        .orderBy((order) => order("api_key_id", "=", ledger.identity.apiKeyId), "desc")
        .orderBy("created_at_ms")
        .execute(),
    ),
  )[0];

/** So many damaged rows may lie before others. */
const MAX_DAMAGED = 20;

export const listNewestNarrations = async (ledger: Ledger, limit: number): Promise<NarrationRow[]> =>
  parseNarrations(
    await ledger.database.run((db) =>
      selectNarrations(db, ledger)
        .orderBy("created_at_ms", "desc")
        .orderBy("id")
        .limit(limit + MAX_DAMAGED)
        .execute(),
    ),
  ).slice(0, limit);

export const selectParts = (db: Db, id: string): Promise<PartRow[]> =>
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
  readonly pace: RunPace;
  /** Whether it runs and a living process wants it. */
  readonly isWanted: boolean;
  /** Whether it runs and this process wants it. */
  readonly isWantedHere: boolean;
  /** Whether a standing wish lets files take the place of others. */
  readonly mayReplace: boolean;
  /** The newest first. */
  readonly files: readonly FileRow[];
}

/** Reads a narration's row; `undefined` if it is gone or damaged. */
export const selectNarration = async (db: Db, id: string): Promise<NarrationRow | undefined> =>
  parseNarrations(await db.selectFrom("agm_narration").selectAll().where("id", "=", id).execute())[0];

const deriveWanted = ({ identity }: Ledger, narration: NarrationRow, wishes: readonly WishRow[]) => ({
  isWanted: narration.status === "running" && wishes.length > 0,
  isWantedHere: narration.status === "running" && wishes.some((wish) => wish.process === identity.processId),
  mayReplace: wishes.some(({ replaces }) => replaces === (narration.file_name ?? "")),
});

/** Whether a narration is wanted, and only under other API keys: what it begins under this one would have no payer. */
export const isLeftToOtherKeys = (
  { identity }: Ledger,
  { status }: NarrationRow,
  wishes: readonly WishRow[],
): boolean =>
  status === "running" &&
  wishes.length > 0 &&
  wishes.every(({ api_key_id }) => api_key_id !== identity.apiKeyId);

/** Reads a narration with all its parts; `undefined` if its row is gone. */
export const readNarration = (ledger: Ledger, id: string): Promise<NarrationSnapshot | undefined> =>
  runSnapshot(ledger, async (open) => {
    const { tx } = open;
    const narration = await selectNarration(tx, id);
    if (narration === undefined) return undefined;
    const parts = await selectParts(tx, id);
    return {
      narration,
      parts,
      tasks: await readTasks(open, narration, listFingerprints(parts)),
      bill: await readBill(tx, id),
      pace: await readPace(open, narration),
      ...deriveWanted(ledger, narration, await listStandingWishes(open, id)),
      files: await selectFiles(tx, id),
    };
  });

/** What one round of a narration reads. */
export interface RoundRead extends Omit<NarrationSnapshot, "parts" | "bill" | "pace" | "files"> {
  /** Whether this process drives the narration, and may begin its parts. */
  readonly isMine: boolean;
  /** Present if the parts were read again, and then `tasks` has all of them. */
  readonly parts: readonly PartRow[] | null;
}

/**
 * Reads what may have changed in a narration; `undefined` if its row is gone.
 *
 * @param openFingerprints the fingerprints whose requests may have changed; `null` to read all parts and requests
 */
export const readRound = (
  ledger: Ledger,
  id: string,
  openFingerprints: readonly string[] | null,
): Promise<RoundRead | undefined> =>
  runSnapshot(ledger, async (open) => {
    const { tx } = open;
    const narration = await selectNarration(tx, id);
    if (narration === undefined) return undefined;
    const parts = openFingerprints === null ? await selectParts(tx, id) : null;
    const fingerprints = openFingerprints ?? listFingerprints(parts ?? []);
    const wishes = await listStandingWishes(open, id);
    return {
      narration,
      isMine: narration.owner === ledger.identity.processId && !isLeftToOtherKeys(ledger, narration, wishes),
      parts,
      tasks: await readTasks(open, narration, fingerprints),
      ...deriveWanted(ledger, narration, wishes),
    };
  });

/** What the time left of a run is estimated from. */
export interface RunPace {
  /** How long the service counts a submission. */
  readonly windowSeconds: number;
  /** The newest attempts that the run has paid for. */
  readonly attempts: readonly PacedAttempt[];
}

interface PacedAttempt {
  readonly request: string;
  readonly status: AttemptStatus;
  readonly sentAtMs: number;
  /** `null` while the service works on it, and if it has failed. */
  readonly madeAtMs: number | null;
}

/** Two minutes of attempts at full speed. */
const PACED_ATTEMPTS = 2 * SUBMISSIONS_PER_WINDOW;

async function readPace({ tx, ledger }: OpenTransaction, { id, run }: NarrationRow): Promise<RunPace> {
  const attempts = await tx
    .selectFrom("agm_attempt")
    .select(["request", "status", "spent_at_ms", "accepted_at_ms", "finished_at_ms"])
    .where("payer", "=", id)
    .where("payer_run", "=", run)
    .orderBy("spent_at_ms", "desc")
    .limit(PACED_ATTEMPTS)
    .execute();
  return {
    windowSeconds: buildLimitTiming(ledger.timeScale).windowMs / 1000,
    attempts: attempts.map(({ request, status, spent_at_ms, accepted_at_ms, finished_at_ms }) => ({
      request,
      status,
      // The service counts a submission from its answer on.
      sentAtMs: accepted_at_ms ?? spent_at_ms,
      madeAtMs: status === "failed" ? null : finished_at_ms,
    })),
  };
}

/** How far a narration is. */
export interface NarrationProgress
  extends Pick<NarrationSnapshot, "narration" | "isWanted" | "pace" | "bill"> {
  readonly savedPartCount: number;
  readonly totalPartCount: number;
  /** The requests whose audio is not saved, and has not failed. Equal parts share one. */
  readonly missingCount: number;
}

/** Counts the saved parts of narrations, which this process may see. */
async function countParts({ tx, ledger }: OpenTransaction, id: string) {
  const keys = await listVisibleApiKeys(tx, ledger);
  const counts = await tx
    .selectFrom("agm_part")
    .select((eb) => {
      const has = (...statuses: readonly AttemptStatus[]) =>
        eb.exists(
          eb
            .selectFrom("agm_current_attempt")
            .select("agm_current_attempt.id")
            .whereRef("agm_current_attempt.fingerprint", "=", "agm_part.fingerprint")
            .where("agm_current_attempt.status", "in", statuses)
            .where("agm_current_attempt.api_key_id", "in", keys),
        );
      const isWhole = sql`agm_part.problem IS NULL`;
      return [
        eb.fn.countAll<number>().as("total"),
        sql<number | null>`SUM(CASE WHEN ${isWhole} AND ${has("saved")} THEN 1 ELSE 0 END)`.as("saved"),
        sql<number>`COUNT(DISTINCT CASE WHEN ${isWhole} AND NOT ${has("saved", "failed")} THEN agm_part.fingerprint END)`.as(
          "missing",
        ),
      ];
    })
    .where("narration", "=", id)
    .executeTakeFirstOrThrow();
  return {
    savedPartCount: Number(counts.saved ?? 0),
    totalPartCount: Number(counts.total),
    missingCount: Number(counts.missing),
  };
}

/** Reads how far a narration is, without its parts; `undefined` if its row is gone. */
export const readProgress = (ledger: Ledger, id: string): Promise<NarrationProgress | undefined> =>
  runSnapshot(ledger, async (open) => {
    const { tx } = open;
    const narration = await selectNarration(tx, id);
    if (narration === undefined) return undefined;
    const wishes = await listStandingWishes(open, id);
    return {
      narration,
      isWanted: deriveWanted(ledger, narration, wishes).isWanted,
      ...(await countParts(open, id)),
      pace: await readPace(open, narration),
      bill: await readBill(tx, id),
    };
  });

/** Lists the requests of a narration's parts that have begun and not ended, under the own API key. */
export const listOpenRequests = (ledger: Ledger, narrationId: string): Promise<RequestRow[]> =>
  ledger.database.run((db) =>
    db
      .selectFrom("agm_current_attempt")
      .selectAll()
      .where("fingerprint", "in", (eb) =>
        eb.selectFrom("agm_part").select("fingerprint").where("narration", "=", narrationId),
      )
      .where("api_key_id", "=", ledger.identity.apiKeyId)
      .where("status", "not in", ["saved", "failed"])
      .execute(),
  );

/** Reads what a narration has cost. */
export const readNarrationBill = (ledger: Ledger, id: string): Promise<Bill> =>
  ledger.database.run((db) => readBill(db, id));

/** Reads whether a narration runs and a living process wants it, and nothing else; `undefined` if its row is gone. */
export const readStanding = (
  ledger: Ledger,
  id: string,
): Promise<Pick<NarrationSnapshot, "narration" | "isWanted"> | undefined> =>
  runSnapshot(ledger, async (open) => {
    const narration = await selectNarration(open.tx, id);
    if (narration === undefined) return undefined;
    const wishes = await listStandingWishes(open, id);
    return { narration, isWanted: deriveWanted(ledger, narration, wishes).isWanted };
  });

/** Reads the requests of fingerprints that no row of the narration has yet. */
export const readTasksOf = (
  ledger: Ledger,
  narration: NarrationRow,
  fingerprints: readonly string[],
): Promise<TasksByFingerprint> => runSnapshot(ledger, (open) => readTasks(open, narration, fingerprints));
