/** Reads and writes calls that are answered as MCP tasks. A call's process writes only while the call is its own. */
import { randomUUID } from "node:crypto";
import { DAY_MS } from "../clock.ts";
import { isProcessDead } from "../process-id.ts";
import type { Tx } from "./database.ts";
import type { Ledger } from "./ledger.ts";
import type { HandleRow } from "./schema.ts";

/** How long the result of a call is kept after its end. */
const KEEP_FINISHED_MS = 30 * DAY_MS;
/** After this many leases without a sign of life, a call that has no wish yet counts as abandoned. */
const SILENT_LEASES = 4;

const OPEN_STATUSES = ["working", "cancelling"] as const satisfies ReadonlyArray<HandleRow["status"]>;

/** Whether a call has not ended. */
export const isHandleOpen = ({ status }: Pick<HandleRow, "status">): boolean =>
  OPEN_STATUSES.some((open) => open === status);

const FIRST_MESSAGE = "The request is about to be taken up.";

/**
 * Opens a call of this process. If the same call of the same API key is open, returns that one, so that both callers
 * share an MCP task. Deletes calls that ended long ago.
 *
 * @param args the arguments as JSON. Equal calls must have equal texts
 */
export function openHandle(
  { database, identity, clock }: Ledger,
  tool: string,
  args: string,
): Promise<{ readonly row: HandleRow; readonly isNew: boolean }> {
  const { apiKeyId, processId } = identity;
  const id = randomUUID();
  return database.tx(async (tx) => {
    // The lock makes two processes open one call in turn.
    await database.lockGate(tx, apiKeyId);
    const nowMs = clock.wallMs();
    const open = await tx
      .selectFrom("agm_handle")
      .selectAll()
      .where("status", "=", "working")
      .where("api_key_id", "=", apiKeyId)
      .where("tool", "=", tool)
      .where("args", "=", args)
      .orderBy("created_at_ms")
      .executeTakeFirst();
    // This transaction may run twice, and then finds its own row.
    if (open?.id === id) return { row: open, isNew: true };
    if (open !== undefined) {
      const updated_at_ms = Math.max(nowMs, open.created_at_ms + 1);
      await tx.updateTable("agm_handle").set({ updated_at_ms }).where("id", "=", open.id).execute();
      return { row: { ...open, updated_at_ms }, isNew: false };
    }
    await tx
      .deleteFrom("agm_handle")
      .where("status", "in", ["cancelled", "completed"])
      .where("updated_at_ms", "<", nowMs - KEEP_FINISHED_MS)
      .execute();
    const row: HandleRow = {
      id,
      api_key_id: apiKeyId,
      tool,
      process: processId,
      status: "working",
      created_at_ms: nowMs,
      updated_at_ms: nowMs,
      target: null,
      message: FIRST_MESSAGE,
      result: null,
      args,
    };
    await tx.insertInto("agm_handle").values(row).execute();
    return { row, isNew: true };
  });
}

/** Finds a call of this API key. */
export const findHandle = ({ database, identity }: Ledger, id: string): Promise<HandleRow | undefined> =>
  database.run((db) =>
    db
      .selectFrom("agm_handle")
      .selectAll()
      .where("id", "=", id)
      .where("api_key_id", "=", identity.apiKeyId)
      .executeTakeFirst(),
  );

/** Whether the process that waits for an open call has ended, as far as this process can know. */
export function isHandleAbandoned(
  { database, clock }: Ledger,
  { id, process, updated_at_ms }: Pick<HandleRow, "id" | "process" | "updated_at_ms">,
): Promise<boolean> {
  return database.snapshot(async (tx, nowSteadyMs) => {
    if (isProcessDead(process)) return true;
    const wish = await tx
      .selectFrom("agm_wish")
      .select("lease_until_steady_ms")
      .where("id", "=", id)
      .where("process", "=", process)
      .executeTakeFirst();
    if (wish !== undefined) return wish.lease_until_steady_ms <= nowSteadyMs;
    // If the call is alive after all, two processes wait for one request, which is made once.
    return clock.wallMs() - updated_at_ms > SILENT_LEASES * database.leaseMs;
  });
}

/** Changes a call unless it has ended, or another process than the given one waits for it. Returns whether it did. */
const updateOpenHandle = (
  { database, clock }: Ledger,
  id: string,
  process: string | null,
  change: Partial<HandleRow>,
): Promise<boolean> =>
  database.run(async (db) => {
    const open = db.updateTable("agm_handle").where("id", "=", id).where("status", "in", OPEN_STATUSES);
    const { numUpdatedRows } = await (process === null ? open : open.where("process", "=", process))
      .set({ ...change, updated_at_ms: clock.wallMs() })
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  });

/** Notes what an open call wants. Returns how the call stands. */
export async function noteHandleTarget(
  tx: Tx,
  id: string,
  target: string,
): Promise<HandleRow["status"] | undefined> {
  await tx.updateTable("agm_handle").set({ target }).where("id", "=", id).execute();
  return (await tx.selectFrom("agm_handle").select("status").where("id", "=", id).executeTakeFirst())?.status;
}

/** Reads what a call wants; `null` if it has wanted nothing yet. */
export const readHandleTarget = async (tx: Tx, id: string): Promise<string | null> =>
  (await tx.selectFrom("agm_handle").select("target").where("id", "=", id).executeTakeFirst())?.target ??
  null;

/** Notes that a call was cancelled too late: the service may have its request. */
export const markCancelling = (tx: Tx, id: string): Promise<unknown> =>
  tx
    .updateTable("agm_handle")
    .set({ status: "cancelling" })
    .where("id", "=", id)
    .where("status", "=", "working")
    .execute();

/** Lets this process wait for a call. Returns false if the call has ended, or if another process was faster. */
export const takeOverHandle = (ledger: Ledger, { id, process }: HandleRow): Promise<boolean> =>
  updateOpenHandle(ledger, id, process, { process: ledger.identity.processId });

/** Stores how a call of this process stands. Returns false if it has ended, or if another process waits for it now. */
export const writeHandleMessage = (ledger: Ledger, id: string, message: string): Promise<boolean> =>
  updateOpenHandle(ledger, id, ledger.identity.processId, { message });

/** Stores the result of a call of this process, as JSON. Returns as {@link writeHandleMessage} does. */
export const completeHandle = (ledger: Ledger, id: string, result: string): Promise<boolean> =>
  updateOpenHandle(ledger, id, ledger.identity.processId, { status: "completed", result });

/** Ends a call of any process as cancelled. Returns false if it has ended already. */
export const cancelHandle = (ledger: Ledger, id: string, message: string): Promise<boolean> =>
  updateOpenHandle(ledger, id, null, { status: "cancelled", message });

/** Deletes a call that nothing has happened to since it was opened. Returns false if another call shares it. */
export const discardHandle = ({ database }: Ledger, { id, updated_at_ms }: HandleRow): Promise<boolean> =>
  database.run(async (db) => {
    const untouched = db.deleteFrom("agm_handle").where("id", "=", id);
    const { numDeletedRows } = await untouched
      .where("updated_at_ms", "=", updated_at_ms)
      .executeTakeFirstOrThrow();
    return numDeletedRows > 0n;
  });
