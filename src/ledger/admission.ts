/**
 * Says yes or no to a submission: the only place that lets credits be spent. One transaction reads who wants it, picks
 * who pays, judges the limits, and writes `unresolved` just before the submission leaves.
 */
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { MAX_CONCURRENT_TASKS, SUBMISSIONS_PER_WINDOW } from "../contract/service-limits.ts";
import { BUDGET_WINDOW_MS, readBill, sumSpentCredits } from "./bills.ts";
import type { Tx } from "./database.ts";
import { type Gate, type GateStamp, openGate, writeGate } from "./gate.ts";
import { findUnagreed } from "./kinship.ts";
import { LeaseLostError, type Ledger } from "./ledger.ts";
import { buildLimitTiming, type LimitTiming } from "./limit-timing.ts";
import { isHeld, type OpenTransaction, runTransaction } from "./open-transaction.ts";
import {
  hasRareStatus,
  patchRequest,
  type RequestPatch,
  readRequest,
  writeAsDriver,
} from "./request-rows.ts";
import { OPEN_STATUSES, type RequestRow } from "./schema.ts";
import { doesWishStand, listPayers } from "./wishes.ts";

export type HoldReason = "cooldown" | "rate" | "concurrency";

/** `retryMs`: when to ask again. For `concurrency` it is a maximum, because a task may end earlier. */
export interface Hold {
  readonly reason: HoldReason;
  readonly retryMs: number;
}

export type Admission =
  | { readonly kind: "admitted"; readonly row: RequestRow }
  /** Nobody wants it any more. */
  | { readonly kind: "unwanted" }
  /** No narration that wants it has room for it. */
  | { readonly kind: "over_max_credits" }
  /** Its text was sent meanwhile, typed otherwise, and nobody has agreed to pay for it again. */
  | { readonly kind: "repeated"; readonly other: RequestRow }
  | { readonly kind: "over_budget"; readonly spentCredits: number }
  | ({ readonly kind: "hold" } & Hold);

/** The facts that the account's limits are judged by. All times are on the steady clock. */
export interface LimitFacts {
  readonly cooldownUntilMs: number;
  readonly sends: readonly GateStamp[];
  /** When each taken concurrency slot becomes free at the latest. */
  readonly slotEndsMs: readonly number[];
  /** Whether a request that a person waits for comes first. */
  readonly mustLetPass: boolean;
}

/** Judges the account's limits: cooldown, six a minute, two at once. Returns `null` if a submission may leave. */
export function decideHold(facts: LimitFacts, timing: LimitTiming, nowMs: number): Hold | null {
  const { cooldownUntilMs, sends, slotEndsMs, mustLetPass } = facts;
  if (cooldownUntilMs > nowMs) return { reason: "cooldown", retryMs: cooldownUntilMs - nowMs };
  if (sends.length >= SUBMISSIONS_PER_WINDOW) {
    const oldestFirst = sends.map(({ atSteadyMs }) => Math.min(atSteadyMs, nowMs)).sort((a, b) => a - b);
    const blockingMs = oldestFirst[sends.length - SUBMISSIONS_PER_WINDOW] ?? nowMs;
    return { reason: "rate", retryMs: Math.max(1, Math.ceil(blockingMs + timing.windowMs - nowMs)) };
  }
  const taken = slotEndsMs.filter((endMs) => endMs > nowMs).sort((a, b) => a - b);
  const freeAtMs = taken[taken.length - MAX_CONCURRENT_TASKS];
  if (freeAtMs !== undefined)
    return { reason: "concurrency", retryMs: Math.min(timing.maxRetryMs, freeAtMs - nowMs) };
  return mustLetPass ? { reason: "concurrency", retryMs: timing.maxRetryMs } : null;
}

/** When the concurrency slot of another request becomes free at the latest, unless its task ends before. */
function computeSlotEndMs(
  row: Pick<RequestRow, "status" | "sent_steady_ms" | "lease_until_steady_ms">,
  timing: LimitTiming,
  nowMs: number,
): number {
  const sentMs = Math.min(row.sent_steady_ms, nowMs);
  if (row.status !== "unresolved") return sentMs + timing.acceptedSlotMs;
  const seenMs = Math.max(sentMs, Math.min(row.lease_until_steady_ms, nowMs));
  // A living process may have given the submission up.
  return Math.min(seenMs, sentMs + timing.windowMs) + timing.unansweredSlotMs;
}

async function readLimitFacts(
  gate: Gate,
  row: Pick<RequestRow, "id">,
  isOfNarration: boolean,
): Promise<LimitFacts> {
  const { tx, ledger, nowSteadyMs, cooldownUntilMs, sends } = gate;
  const timing = buildLimitTiming(ledger.timeScale);
  const open = await tx
    .selectFrom("agm_current_attempt")
    .select(["status", "sent_steady_ms", "lease_until_steady_ms"])
    .where(hasRareStatus(...OPEN_STATUSES))
    .where("api_key_id", "=", ledger.identity.apiKeyId)
    .where("id", "!=", row.id)
    .where("is_open", "=", 1)
    .execute();
  if (open.some(({ sent_steady_ms }) => sent_steady_ms > nowSteadyMs)) {
    // Written before the machine restarted, and with it the steady clock: the time of these counts from now.
    await tx
      .updateTable("agm_attempt")
      .set({ sent_steady_ms: nowSteadyMs })
      .where("status", "in", OPEN_STATUSES)
      .where("sent_steady_ms", ">", nowSteadyMs)
      .where("request", "in", (eb) =>
        eb.selectFrom("agm_request").select("id").where("api_key_id", "=", ledger.identity.apiKeyId),
      )
      .execute();
  }
  return {
    cooldownUntilMs,
    sends,
    slotEndsMs: open.map((other) => computeSlotEndMs(other, timing, nowSteadyMs)),
    mustLetPass: isOfNarration && (await isCallWaiting(gate, row)),
  };
}

/** Whether the request of a single call waits for nothing but its turn. Parts of narrations let it pass. */
async function isCallWaiting(open: OpenTransaction, row: Pick<RequestRow, "id">): Promise<boolean> {
  const wishes = await open.tx
    .selectFrom("agm_wish")
    .innerJoin("agm_current_attempt", "agm_current_attempt.id", "agm_wish.target")
    .select(["agm_wish.process", "agm_wish.lease_until_steady_ms", "owner"])
    .select("agm_current_attempt.lease_until_steady_ms as drivenUntilMs")
    .where("agm_current_attempt.api_key_id", "=", open.ledger.identity.apiKeyId)
    .where("agm_current_attempt.id", "!=", row.id)
    .where("agm_current_attempt.status", "=", "waiting")
    .where("agm_current_attempt.error_code", "is", null)
    .where("agm_current_attempt.note", "is", null)
    .execute();
  return wishes.some(
    ({ owner, drivenUntilMs, ...wish }) =>
      isHeld(open, { owner, lease_until_steady_ms: drivenUntilMs }) && doesWishStand(open, wish),
  );
}

interface Payer {
  /** The id of a narration; `null` for the callers of the request itself. */
  readonly payer: string | null;
  /** The narration's run in which it pays. */
  readonly run: number;
}

/** The payer of a send that may have arrived. A later run of the narration that wants it has its failure. */
async function readPayer(
  tx: Tx,
  { payer, payer_run }: RequestRow,
  payers: ReadonlyArray<string | null>,
): Promise<Payer> {
  if (payer === null || !payers.includes(payer)) return { payer, run: payer_run };
  const narration = await tx
    .selectFrom("agm_narration")
    .select("run")
    .where("id", "=", payer)
    .executeTakeFirst();
  return { payer, run: narration?.run ?? payer_run };
}

/**
 * Picks the first payer with room for one more reservation. Locks the narrations that it looks at, so that no other
 * admission and no lowered limit comes between.
 *
 * @returns `undefined` if none has room
 */
async function choosePayer(
  open: OpenTransaction,
  requestId: string,
  payers: ReadonlyArray<string | null>,
): Promise<Payer | undefined> {
  const { tx, ledger } = open;
  for (const payer of payers) {
    if (payer === null) return { payer, run: 0 };
    await ledger.database.lockRow(tx, "agm_narration", payer);
    // It may have been stopped, or have chosen another take, before it was locked.
    if (!(await listPayers(open, requestId)).includes(payer)) continue;
    const narration = await tx
      .selectFrom("agm_narration")
      .select(["max_credits", "status", "run"])
      .where("id", "=", payer)
      .executeTakeFirst();
    if (narration?.status !== "running") continue;
    const { spent } = await readBill(tx, payer);
    if (spent + RESERVED_CREDITS <= (narration.max_credits ?? 0)) return { payer, run: narration.run };
  }
  return undefined;
}

/**
 * Asks for leave to send the submission of a request that this process drives. A yes is written before it is returned:
 * the attempt is `unresolved`, has its payer, and counts as a send that may arrive.
 *
 * @param sendId names the send. Asking twice with one id is one admission
 * @param mayResend whether the driver goes on with a send of its own that may have arrived, even if nobody wants it
 *   any more, because its credits may be reserved
 * @throws LeaseLostError
 */
export const requestAdmission = (
  ledger: Ledger,
  { id }: Pick<RequestRow, "id">,
  sendId: string,
  mayResend: boolean,
): Promise<Admission> =>
  runTransaction(ledger, async (open): Promise<Admission> => {
    if (ledger.creditBudget !== null) await ledger.database.lockGate(open.tx, ledger.identity.baseUrl);
    const gate = await openGate(open);
    const { tx, nowSteadyMs } = gate;
    await ledger.database.lockRow(tx, "agm_request", id);
    const row = await readRequest(tx, id);
    if (row === undefined) return { kind: "unwanted" };
    if (row.send_id === sendId) return { kind: "admitted", row };
    // Another process may have had the request made meanwhile.
    if (row.status !== "waiting" && row.status !== "unresolved") return { kind: "unwanted" };
    const isResend = row.maybe > 0;
    const payers = await listPayers(gate, id);
    if (payers.length === 0 && !(isResend && mayResend)) return { kind: "unwanted" };
    // A send that may have arrived has its payer, and is sent again in any case.
    const chosen = isResend ? await readPayer(tx, row, payers) : await choosePayer(gate, id, payers);
    if (chosen === undefined) return { kind: "over_max_credits" };
    const { payer, run } = chosen;
    const other = isResend ? null : await findUnagreed(gate, row, payer);
    if (other !== null) return { kind: "repeated", other };
    if (ledger.creditBudget !== null && !isResend) {
      const sinceMs = ledger.clock.wallMs() - BUDGET_WINDOW_MS;
      const spentCredits = await sumSpentCredits(tx, ledger, sinceMs, id);
      if (spentCredits + RESERVED_CREDITS > ledger.creditBudget) return { kind: "over_budget", spentCredits };
    }
    const facts = await readLimitFacts(gate, row, payer !== null && !isResend);
    const hold = decideHold(facts, buildLimitTiming(ledger.timeScale), nowSteadyMs);
    if (hold !== null) return { kind: "hold", ...hold };
    await writeGate(gate, {
      sends: [...facts.sends, { id: sendId, atSteadyMs: nowSteadyMs, isOpen: true }],
    });
    const patch: RequestPatch = {
      status: "unresolved",
      maybe: row.maybe + 1,
      send_id: sendId,
      sent_steady_ms: nowSteadyMs,
      payer,
      payer_run: run,
      error: null,
      error_code: null,
      ...(isResend ? {} : { spent_at_ms: ledger.clock.wallMs() }),
    };
    return { kind: "admitted", row: await writeAsDriver(gate, row, patch) };
  });

/** What came of a send. */
export interface SendResult {
  readonly sendId: string;
  /** False if no connection was made: the send does not count in the minute. */
  readonly wasSent: boolean;
  /** False if the service has refused it or was not reached, so that no task can come of it. */
  readonly mayHaveArrived: boolean;
  /** A pause of all submissions of the account, which the service asked for. */
  readonly cooldownMs?: number;
}

/** Writes to the account what came of a send: its minute begins now. */
async function recordAtGate(
  open: OpenTransaction,
  { sendId, wasSent, cooldownMs = 0 }: SendResult,
): Promise<Gate> {
  const gate = await openGate(open);
  const { nowSteadyMs } = gate;
  const sends = gate.sends.flatMap((stamp) => {
    if (stamp.id !== sendId) return [stamp];
    return wasSent ? [{ id: sendId, atSteadyMs: nowSteadyMs }] : [];
  });
  const cooldownUntilMs =
    cooldownMs === 0 ? gate.cooldownUntilMs : Math.max(gate.cooldownUntilMs, nowSteadyMs + cooldownMs);
  await writeGate(gate, { sends, cooldownUntilMs });
  return gate;
}

/** The columns of an attempt with one open send less. */
const withoutSend = ({ maybe }: Pick<RequestRow, "maybe">): RequestPatch =>
  maybe > 1
    ? { maybe: maybe - 1 }
    : { maybe: 0, status: "waiting", payer: null, payer_run: 0, spent_at_ms: 0 };

/** Two API keys of an account may send one attempt at the same moment: whoever had its task first pays. */
const readFirstPayer = (
  tx: Tx,
  { id }: RequestRow,
  { task_id }: RequestPatch,
): Promise<Pick<RequestRow, "payer" | "payer_run"> | undefined> =>
  tx
    .selectFrom("agm_request_attempt")
    .select(["payer", "payer_run"])
    .where("task_id", "=", task_id ?? null)
    .where("id", "!=", id)
    .orderBy("accepted_at_ms")
    .executeTakeFirst();

/**
 * Writes what came of a send, in one transaction with its minute. Both are facts about the service, so they are written
 * even if this process has lost the lease meanwhile; but a task that the attempt has already stays.
 *
 * @param patch columns to change besides, which only the driver may write
 * @throws LeaseLostError after writing, if no task was accepted and this process does not drive the request any more
 */
export async function recordSendResult(
  ledger: Ledger,
  row: RequestRow,
  result: SendResult,
  patch: RequestPatch,
): Promise<RequestRow> {
  const written = await runTransaction(ledger, async (open) => {
    const gate = await recordAtGate(open, result);
    const { tx, nowSteadyMs } = gate;
    await ledger.database.lockRow(tx, "agm_request", row.id);
    const current = await readRequest(tx, row.id);
    const isAccepted = patch.task_id != null;
    const isOpen = current === undefined || (current.attempt === row.attempt && current.task_id === null);
    const isOwn = current === undefined || current.owner === ledger.identity.processId;
    if (!isOpen) return isAccepted || isOwn ? current : null;
    const change: RequestPatch = {
      ...patch,
      ...(isAccepted ? { polled_steady_ms: nowSteadyMs, ...(await readFirstPayer(tx, row, patch)) } : {}),
      ...(result.mayHaveArrived ? {} : withoutSend(current ?? row)),
    };
    if (current === undefined || isOwn) return await writeAsDriver(gate, current ?? row, change);
    const { note: _, ...facts } = change;
    await patchRequest(tx, current, isAccepted ? { ...facts, error: null, error_code: null } : facts);
    return isAccepted ? ((await readRequest(tx, row.id)) ?? row) : null;
  });
  if (written === null) throw new LeaseLostError("another process drives it");
  return written;
}

/** Takes an admission back whose submission was not sent. Does nothing if a newer send was admitted. */
export const releaseAdmission = (ledger: Ledger, id: string, sendId: string): Promise<void> =>
  runTransaction(ledger, async (open) => {
    const { tx } = await recordAtGate(open, { sendId, wasSent: false, mayHaveArrived: false });
    const row = await readRequest(tx, id);
    if (row === undefined || row.send_id !== sendId || row.task_id !== null) return;
    await patchRequest(tx, row, { ...withoutSend(row), send_id: null });
  });
