/** Says who wants a request or a narration. Admission reads these rows; nothing else decides what is wanted. */
import { randomUUID } from "node:crypto";
import { AudioError } from "../errors.ts";
import type { Db, Tx } from "./database.ts";
import { markCancelling, noteHandleTarget, readHandleTarget } from "./handle-rows.ts";
import type { Ledger } from "./ledger.ts";
import { isHeld, type OpenTransaction, runSnapshot } from "./open-transaction.ts";
import { readRequest } from "./request-rows.ts";
import type { WishRow } from "./schema.ts";

export interface NewWish {
  /** The id of an MCP task is also the id of its wish, so that any process can take it back. */
  readonly id?: string | undefined;
  readonly target: string;
  readonly kind: WishRow["kind"];
  /** See {@link WishRow}. */
  readonly replaces?: string | null;
}

/** Stores a wish of this process, or takes over the one with this id. Returns its id. */
export async function addWish(
  { tx, ledger, nowSteadyMs }: OpenTransaction,
  { id = randomUUID(), target, kind, replaces = null }: NewWish,
): Promise<string> {
  if (kind === "handle" && !(await noteTarget(tx, id, target))) return id;
  const { processId, apiKeyId } = ledger.identity;
  const row = {
    id,
    target,
    kind,
    api_key_id: apiKeyId,
    process: processId,
    lease_until_steady_ms: nowSteadyMs + ledger.database.leaseMs,
    replaces,
    wished_at_ms: ledger.clock.wallMs(),
  };
  await tx
    .insertInto("agm_wish")
    .values(row)
    .onConflict((conflict) => conflict.column("id").doUpdateSet(row))
    .execute();
  return id;
}

/**
 * Notes what the call of an MCP task wants, because it is asked for longer than its wish stands.
 *
 * @returns false if it was cancelled too late: it then only waits for what the service has
 * @throws AudioError if it has ended in another process; nobody reads this error
 */
async function noteTarget(tx: Tx, handleId: string, target: string): Promise<boolean> {
  const status = await noteHandleTarget(tx, handleId, target);
  if (status === "working") return true;
  if (status === "cancelling") return false;
  throw new AudioError("timeout", "The MCP task has ended.");
}

/** Whether a wish counts: its process lives. */
export const doesWishStand = (
  open: OpenTransaction,
  { process, lease_until_steady_ms }: Pick<WishRow, "process" | "lease_until_steady_ms">,
): boolean =>
  process === open.ledger.identity.processId || isHeld(open, { owner: process, lease_until_steady_ms });

/** Lists the wishes for a target that stand: those of living processes. */
export async function listStandingWishes(open: OpenTransaction, target: string): Promise<WishRow[]> {
  const wishes = await open.tx.selectFrom("agm_wish").selectAll().where("target", "=", target).execute();
  return wishes.filter((wish) => doesWishStand(open, wish));
}

/**
 * Lists who would pay for a request, the eldest wish first: `null` for callers of the request itself, which come before
 * narrations; the ids of running narrations that have it as a part; empty if nobody wants it.
 */
export async function listPayers(open: OpenTransaction, requestId: string): Promise<Array<string | null>> {
  const wishes = await open.tx
    .selectFrom("agm_wish")
    .selectAll()
    .where("api_key_id", "=", open.ledger.identity.apiKeyId)
    .where((eb) =>
      eb.or([
        eb("target", "=", requestId),
        eb("target", "in", (select) =>
          select
            .selectFrom("agm_request")
            .innerJoin("agm_part", "agm_part.fingerprint", "agm_request.fingerprint")
            .innerJoin("agm_narration", "agm_narration.id", "agm_part.narration")
            .select("agm_narration.id")
            .where("agm_request.id", "=", requestId)
            .where("agm_narration.status", "=", "running"),
        ),
      ]),
    )
    .orderBy("wished_at_ms")
    .orderBy("id")
    .execute();
  const standing = wishes.filter((wish) => doesWishStand(open, wish));
  if (standing.some((wish) => wish.target === requestId)) return [null];
  return [...new Set(standing.map((wish) => wish.target))];
}

/** Whether anybody wants a request now. */
export const isWanted = async (open: OpenTransaction, requestId: string): Promise<boolean> =>
  (await listPayers(open, requestId)).length > 0;

/** Does the same in a transaction of its own. */
export const isRequestWanted = (ledger: Ledger, requestId: string): Promise<boolean> =>
  runSnapshot(ledger, (open) => isWanted(open, requestId));

/**
 * Ends the wish of a call. `self`: the call has said that the work goes on by itself. `withdrawn`: it wants nothing any
 * more.
 */
export const endWish = (ledger: Ledger, id: string, as: "self" | "withdrawn"): Promise<void> =>
  ledger.database.run(async (db) => {
    if (as === "self") await db.updateTable("agm_wish").set({ kind: "self" }).where("id", "=", id).execute();
    else await deleteWish(db, id);
  });

/** Deletes a wish: its call wants nothing any more. */
export const deleteWish = (db: Db, id: string): Promise<unknown> =>
  db.deleteFrom("agm_wish").where("id", "=", id).execute();

/** Deletes all wishes for requests or narrations, whose work has come to its end. */
export const endWishesFor = (db: Db, targets: readonly string[]): Promise<unknown> =>
  db.deleteFrom("agm_wish").where("target", "in", targets).execute();

/** Whether a wish was not taken back, by whichever process. */
export const hasWish = (ledger: Ledger, id: string): Promise<boolean> =>
  ledger.database.run(
    async (db) =>
      (await db.selectFrom("agm_wish").select("id").where("id", "=", id).executeTakeFirst()) !== undefined,
  );

/** Deletes the wishes of this process, which is about to end. */
export const deleteOwnWishes = (ledger: Ledger): Promise<unknown> =>
  ledger.database.run((db) =>
    db.deleteFrom("agm_wish").where("process", "=", ledger.identity.processId).execute(),
  );

/**
 * Ends what goes on by itself for a request or a narration. Calls that wait end their wishes.
 *
 * @param processId the process whose calls have returned; `null` for every process
 */
export function endOwnCourse(db: Db, target: string, processId: string | null): Promise<unknown> {
  const own = db.deleteFrom("agm_wish").where("target", "=", target).where("kind", "=", "self");
  return (processId === null ? own : own.where("process", "=", processId)).execute();
}

/**
 * Withdraws the wish of a call that was answered as an MCP task, whichever process has made it, unless the service may
 * have its request already: what is sent is paid for, so it is saved.
 *
 * @returns false if it was too late
 */
export const withdrawWish = (ledger: Ledger, id: string): Promise<boolean> =>
  ledger.database.tx(async (tx) => {
    // The wish itself may be gone: what is saved is no longer wished for.
    const target = await readHandleTarget(tx, id);
    if (target !== null) await ledger.database.lockRow(tx, "agm_request", target);
    const row = target === null ? undefined : await readRequest(tx, target);
    const mayBeMade = row !== undefined && row.status !== "failed" && (row.task_id !== null || row.maybe > 0);
    // Without a wish, nothing is sent for it again, but what the service has is completed and saved.
    await deleteWish(tx, id);
    if (mayBeMade) await markCancelling(tx, id);
    return !mayBeMade;
  });
