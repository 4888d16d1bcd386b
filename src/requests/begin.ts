/** Begins a call's request: finds its row, that of the same text typed otherwise, or stores it; and notes who wants it. */
import { AudioError } from "../errors.ts";
import { findKin, type Kinship } from "../ledger/kinship.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { isHeld, type OpenTransaction, runTransaction } from "../ledger/open-transaction.ts";
import { findPartsToCome } from "../ledger/related-narrations.ts";
import {
  buildNextAttempt,
  insertRequest,
  patchRequest,
  type RequestPatch,
  readRequest,
  setAsideDamaged,
} from "../ledger/request-rows.ts";
import type { RequestRow } from "../ledger/schema.ts";
import { addWish, isWanted, listStandingWishes, type NewWish } from "../ledger/wishes.ts";
import type { RequestDeps } from "./deps.ts";
import type { RequestContent } from "./prepare-request.ts";
import { buildNewRequest } from "./prepare-request.ts";

export interface Begun {
  readonly row: RequestRow;
  /** Whether the ledger had the request before. */
  readonly wasKnown: boolean;
  /** Whether a living process was working on it, or somebody else's call was about to have it made. */
  readonly wasUnderWay: boolean;
  readonly kinship: Kinship | null;
  readonly wishId: string | null;
}

export interface BeginOptions {
  /** `null` for a part of a narration, whose wish is that of the narration. */
  readonly wish: Pick<NewWish, "id" | "kind"> | null;
  /** Name and replacement that the call asks for; `undefined` keeps what is planned. */
  readonly name?: Pick<RequestRow, "file_name" | "replaces"> | undefined;
  /** When the call began whose handle is resumed: a failure after it is its result, and nothing is tried again. */
  readonly openedAtMs?: number | undefined;
  /** A call that only looks or downloads opens nothing again that has failed. */
  readonly mayBeginAttempt: boolean;
}

/** Begins a request in one transaction: the guard, the row, the wish, and the next attempt of what has failed. */
export function beginRequest(ledger: Ledger, draft: RequestRow, options: BeginOptions): Promise<Begun> {
  const { wish, name, openedAtMs, mayBeginAttempt } = options;
  return runTransaction(ledger, async (open): Promise<Begun> => {
    const { tx, nowSteadyMs } = open;
    // The concurrency slot of a task that was made elsewhere is counted from now.
    const fresh = draft.task_id === null ? draft : { ...draft, sent_steady_ms: nowSteadyMs };
    // The account's row makes calls begin in turn, so that two that type a text differently see each other.
    if (wish !== null) await ledger.database.lockGate(tx, ledger.identity.apiKeyId);
    await ledger.database.lockRow(tx, "agm_request", fresh.id);
    const known = await readRequest(tx, fresh.id);
    const isOwnFailure = openedAtMs !== undefined && (known?.finished_at_ms ?? 0) >= openedAtMs;
    const mayPay =
      known === undefined ||
      known.status === "waiting" ||
      (known.status === "failed" && mayBeginAttempt && !isOwnFailure);
    const isGuarded = mayPay && wish !== null && fresh.task_id === null;
    const kin = isGuarded ? await findKin(open, fresh) : undefined;
    if (isGuarded && kin === undefined && !(await isUnderWay(open, known)))
      await assertNoPartToCome(open, fresh);
    if (known === undefined && kin === undefined) {
      await setAsideDamaged(open, fresh.id);
      await insertRequest(open, fresh);
    }
    const row = kin?.row ?? known ?? (await readRequest(tx, fresh.id));
    if (row === undefined) throw new AudioError("store_unavailable", "The row of this request has vanished.");
    const wasDriven = isHeld(open, row);
    const others = await listStandingWishes(open, row.id);
    const wasWanted = others.some(({ id }) => id !== wish?.id);
    const wishId = wish === null ? null : await addWish(open, { ...wish, target: row.id });
    const patch: RequestPatch = {};
    if (fresh.is_listed === 1 && row.is_listed === 0) patch.is_listed = 1;
    const isAccepted = row.task_id !== null && row.status !== "failed";
    if (name !== undefined && kin === undefined && !isAccepted) Object.assign(patch, name);
    // The call that has planned the replacement has been cancelled or has died, and this one does not ask for it.
    else if (name?.replaces === null && kin === undefined && row.replaces !== null && !wasWanted)
      patch.replaces = null;
    if (!wasDriven && !isOwnFailure) {
      if (row.status === "failed" && mayBeginAttempt) Object.assign(patch, buildNextAttempt(row));
      else Object.assign(patch, { error: null, error_code: null });
    }
    // A task that another API key had made is taken over. Both keys send an attempt under one idempotency key, so it is
    // also the task of an own send of this attempt without an answer; that of another attempt may have made its own.
    const mayAdopt =
      known?.task_id === null &&
      (known.attempt === fresh.attempt || (known.attempt < fresh.attempt && known.maybe === 0));
    if (fresh.task_id !== null && mayAdopt) Object.assign(patch, adoptedColumns(fresh));
    if (Object.keys(patch).length > 0) {
      await patchRequest(tx, row, { ...patch, updated_at_ms: ledger.clock.wallMs() });
    }
    const begun = (await readRequest(tx, row.id)) ?? row;
    return {
      row: begun,
      wasKnown: known !== undefined || kin !== undefined,
      wasUnderWay: wasDriven || wasWanted,
      kinship: kin?.kinship ?? null,
      wishId,
    };
  });
}

/** Whether somebody works on a request or wants it, so that what it repeats was looked for before. */
const isUnderWay = async (open: OpenTransaction, row: RequestRow | undefined): Promise<boolean> =>
  row !== undefined && (isHeld(open, row) || (await isWanted(open, row.id)));

const adoptedColumns = (fresh: RequestRow): RequestPatch => {
  const { id: _id, is_listed: _listed, owner: _owner, lease_until_steady_ms: _lease, ...columns } = fresh;
  const { file_name: _name, replaces: _replaces, created_at_ms: _created, ...adopted } = columns;
  return adopted;
};

/**
 * Refuses a text that a running narration is about to have made, typed otherwise: it would be paid for twice.
 *
 * @throws AudioError `invalid_request`
 */
async function assertNoPartToCome(open: OpenTransaction, fresh: RequestRow): Promise<void> {
  const parts = await findPartsToCome(open, [fresh.loose ?? ""]);
  const part = parts.find(({ fingerprint }) => fingerprint !== fresh.fingerprint);
  if (part === undefined) return;
  const { narration: id, position } = part;
  const otherTake = (fresh.take ?? 1) + 1;
  throw new AudioError(
    "invalid_request",
    `Part ${position + 1} of narration ${id}, which is being made, is this text; it differs only in quotation marks, blanks or case. Nothing was sent or charged.`,
    {
      remedy: {
        assistant: `Call narrate with narration_id ${id} to wait for it. If the user wants this text as a file of its own, too, make the same call with take ${otherTake}: that is a new task and costs credits.`,
        terminal: `\`audio-generation-mcp narrate ${id}\` waits for it. With --take ${otherTake} it is made as a file of its own, too, which is paid for.`,
      },
    },
  );
}

/** Finds or stores the request of a narration's part, and opens what was refused or failed, unless it is driven. */
export async function beginPart({ ledger }: RequestDeps, part: RequestContent): Promise<RequestRow> {
  const { row } = await beginRequest(ledger, buildNewRequest(ledger, part, false), {
    wish: null,
    mayBeginAttempt: true,
  });
  return row;
}
