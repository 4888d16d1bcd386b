/** Writes the rows of narrations, their parts and their files. Every write states what it has read. */
import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { splitRows, type Tx } from "./database.ts";
import { addAgreed } from "./kinship.ts";
import { type Ledger, rememberApiKey } from "./ledger.ts";
import { isLeftToOtherKeys, type StoredProblem, selectNarration, selectParts } from "./narration-rows.ts";
import { isHeld, type OpenTransaction, runTransaction } from "./open-transaction.ts";
import { clearErrors } from "./request-rows.ts";
import type { NarrationRow, PartRow, WishRow } from "./schema.ts";
import { addWish, deleteWish, endOwnCourse, endWishesFor, listStandingWishes } from "./wishes.ts";

const STOPPED: StoredProblem = { code: "stopped", message: "It was stopped, as asked for." };
const RENEWED: StoredProblem = {
  code: "stopped",
  message: "Parts have takes or speeds now that were chosen in the narration that this one was made of.",
};
const CANCELLED: StoredProblem = {
  code: "cancelled",
  message: "It was cancelled: nothing more is created.",
};

// ---- what calls want ----

/**
 * Stores a narration with its parts. If the narration is known and was begun, changes nothing. If it is only planned,
 * the parts get the choices of this call, because nobody has agreed to the others.
 *
 * @param formerName the name that the earlier plan's own file gave it. The new one takes its place, but not that of a
 *   name that a call has chosen.
 */
export const storeNarration = (
  ledger: Ledger,
  narration: NarrationRow,
  parts: readonly PartRow[],
  formerName: string | null,
): Promise<NarrationRow> =>
  ledger.database.tx(async (tx) => {
    await rememberApiKey(tx, ledger);
    const { id } = narration;
    await insertNarration(tx, narration);
    await ledger.database.lockRow(tx, "agm_narration", id);
    let stored = await selectNarration(tx, id);
    if (stored === undefined) {
      ledger.log.warn(`the row of narration ${id} is damaged; it was planned anew`);
      await tx.deleteFrom("agm_narration").where("id", "=", id).execute();
      await insertNarration(tx, narration);
      stored = narration;
    }
    if (stored.status !== "planned") return stored;
    const known = await selectParts(tx, id);
    const isSame =
      known.length === parts.length &&
      known.every(({ fingerprint }, i) => fingerprint === parts[i]?.fingerprint);
    if (!isSame) {
      await tx.deleteFrom("agm_part").where("narration", "=", id).execute();
      for (const some of splitRows(parts)) await tx.insertInto("agm_part").values(some).execute();
    }
    const { title, predecessor } = narration;
    const file_name = stored.file_name === formerName ? narration.file_name : stored.file_name;
    const renewed = { title, predecessor, file_name };
    await tx.updateTable("agm_narration").set(renewed).where("id", "=", id).execute();
    return { ...stored, ...renewed };
  });

const insertNarration = (tx: Tx, narration: NarrationRow): Promise<unknown> =>
  tx
    .insertInto("agm_narration")
    .values(narration)
    .onConflict((conflict) => conflict.column("id").doNothing())
    .execute();

/** What a call wants of a narration. */
export interface NarrationWant {
  /** The limit; `null` if the call allows no new cost, and then the narration is not started. */
  readonly maxCredits: number | null;
  /** `null` keeps what is stored. */
  readonly fileName: string | null;
  readonly skipsFailed: boolean | null;
  /** Rows of parts with changed choices. */
  readonly choices: readonly PartRow[];
  /** What the call agrees to (kinship.ts). */
  readonly agreed: readonly string[];
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
  return runTransaction(ledger, async (open) => {
    const { tx } = open;
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
        ...(want.agreed.length === 0 ? {} : { told: addAgreed(before, want.agreed) }),
        ...(starts ? buildStart(before) : {}),
        // The call of an MCP task that is resumed after this time has had its start, whatever came of it.
        ...(starts || want.handleId !== null ? { started_at_ms: ledger.clock.wallMs() } : {}),
      })
      .where("id", "=", id)
      .execute();
    if (starts) await tx.updateTable("agm_part").set({ problem: null }).where("narration", "=", id).execute();
    if (want.maxCredits !== null) await forgetErrors(open, id);
    await writeChoices(tx, id, want.choices);
    // The newest call of a process stands for those that have returned, so that its cancellation ends what they wanted.
    await endOwnCourse(tx, id, ledger.identity.processId);
    const replaces = want.mayReplace ? (want.fileName ?? before.file_name ?? "") : null;
    return await addWish(open, { id: wishId, target: id, kind: want.wishKind, replaces });
  });
}

async function writeChoices(tx: Tx, id: string, choices: readonly PartRow[]): Promise<void> {
  for (const { position, fingerprint, loose, take, speed } of choices) {
    await tx
      .updateTable("agm_part")
      .set({ fingerprint, loose, take, speed, problem: null })
      .where("narration", "=", id)
      .where("position", "=", position)
      .execute();
  }
}

/** Stores choices of a begun narration that does not run. It counts as stopped, because its files lack them. */
export const renewChoices = (ledger: Ledger, id: string, choices: readonly PartRow[]): Promise<unknown> =>
  ledger.database.tx(async (tx) => {
    await ledger.database.lockRow(tx, "agm_narration", id);
    const stopped = await tx
      .updateTable("agm_narration")
      .set({ status: "stopped", problem: JSON.stringify(RENEWED), revision: sql<number>`revision + 1` })
      .where("id", "=", id)
      .where("status", "in", ["stopped", "finished"])
      .returning("id")
      .executeTakeFirst();
    if (stopped !== undefined) await writeChoices(tx, id, choices);
  });

const buildStart = ({ run }: NarrationRow): Partial<NarrationRow> => ({
  status: "running",
  run: run + 1,
  problem: null,
  heard_part: 0,
});

/** Forgets why nobody works on the requests of parts, unless somebody does. */
async function forgetErrors(open: OpenTransaction, id: string): Promise<void> {
  const { tx, ledger } = open;
  const rows = await tx
    .selectFrom("agm_part")
    .innerJoin("agm_request", "agm_request.fingerprint", "agm_part.fingerprint")
    .select(["agm_request.id", "agm_request.owner", "agm_request.lease_until_steady_ms"])
    .where("agm_part.narration", "=", id)
    .where("agm_request.api_key_id", "=", ledger.identity.apiKeyId)
    .where("agm_request.error_code", "is not", null)
    .execute();
  const free = rows.filter((row) => !isHeld(open, row)).map((row) => row.id);
  await clearErrors(tx, free);
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

/** Notes which part of a running narration is heard. It changes only the order in which parts are made. */
export const noteHeardPart = (ledger: Ledger, id: string, position: number): Promise<unknown> =>
  ledger.database.run((db) =>
    db
      .updateTable("agm_narration")
      .set({ heard_part: position })
      .where("id", "=", id)
      .where("status", "=", "running")
      .execute(),
  );

/** Notes what an answer has told of what needs consent. */
export const noteTold = (ledger: Ledger, id: string, told: string): Promise<unknown> =>
  ledger.database.run((db) => db.updateTable("agm_narration").set({ told }).where("id", "=", id).execute());

/**
 * Withdraws the wish of a call, whichever process has made it; or what goes on by itself in this process, for a call
 * that has only waited. Stops the narration if no other wish stands.
 *
 * @param which the id of the wish, or of the narration
 * @returns the id of the narration; `null` if there is no such wish
 */
export function cancelWish(
  ledger: Ledger,
  which: { readonly wish: string } | { readonly narration: string },
): Promise<string | null> {
  let done: string | null = null;
  return runTransaction(ledger, async (open) => {
    const { tx } = open;
    const own = tx.selectFrom("agm_wish").select(["id", "target"]);
    const [wish] =
      "wish" in which
        ? await own.where("id", "=", which.wish).execute()
        : await own
            .where("target", "=", which.narration)
            .where("kind", "=", "self")
            .where("process", "=", ledger.identity.processId)
            .execute();
    // The first run of this transaction may have taken effect.
    if (wish === undefined) return done;
    const narrationId = wish.target;
    await ledger.database.lockRow(tx, "agm_narration", narrationId);
    await deleteWish(tx, wish.id);
    const others = await listStandingWishes(open, narrationId);
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
    await endWishesFor(tx, [id]);
  });

// ---- what rounds find ----

/**
 * Takes the lease of a narration, unless another living process has it, or only other API keys want it: then the lease
 * is given back for one of their processes.
 *
 * @returns whether this process has it now
 */
export const takeNarration = (ledger: Ledger, id: string): Promise<boolean> =>
  runTransaction(ledger, async (open) => {
    const { tx, nowSteadyMs } = open;
    await ledger.database.lockRow(tx, "agm_narration", id);
    const lease = await selectNarration(tx, id);
    const { processId } = ledger.identity;
    if (lease === undefined) return false;
    if (lease.owner !== processId && isHeld(open, lease)) return false;
    const wishes = await listStandingWishes(open, id);
    const mayDrive = !isLeftToOtherKeys(ledger, lease, wishes);
    await tx
      .updateTable("agm_narration")
      .set({
        owner: mayDrive ? processId : null,
        lease_until_steady_ms: mayDrive ? nowSteadyMs + ledger.database.leaseMs : 0,
      })
      .where("id", "=", id)
      .execute();
    return mayDrive;
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
    await endWishesFor(tx, [id]);
    return true;
  });

/** Notes why the audio of parts cannot be joined. Writes nothing for a part that has another request by now. */
export const setPartProblems = (
  ledger: Ledger,
  problems: ReadonlyMap<PartRow, StoredProblem>,
): Promise<unknown> =>
  ledger.database.tx(async (tx) => {
    for (const [part, problem] of problems) {
      await tx
        .updateTable("agm_part")
        .set({ problem: JSON.stringify(problem) })
        .where("narration", "=", part.narration)
        .where("position", "=", part.position)
        .where("fingerprint", "=", part.fingerprint)
        .execute();
    }
  });
