/** Reads and writes an account's row: its lock, the pauses of the service, and the sends and reads of the last minute. */
import { z } from "zod";
import { parseJson } from "../parse-json.ts";
import { buildLimitTiming } from "./limit-timing.ts";
import type { OpenTransaction } from "./open-transaction.ts";

const stampsSchema = z.array(
  z.object({
    /** The send; absent for a read. */
    id: z.string().optional(),
    atSteadyMs: z.number(),
    /** Whether the send has no answer yet. */
    isOpen: z.boolean().optional(),
    /** Whether the read was a poll. */
    isPoll: z.boolean().optional(),
  }),
);
/** One send or read in the last minute. */
export type GateStamp = Readonly<z.infer<typeof stampsSchema>[number]>;

/**
 * An account's row as it counts now, and the transaction that has locked it: `nowSteadyMs` is the time after the lock
 * was granted. All times are on the steady clock.
 */
export interface Gate extends OpenTransaction {
  readonly id: string;
  /** When the pause of submissions ends; 0 for none. */
  readonly cooldownUntilMs: number;
  readonly readCooldownUntilMs: number;
  readonly sends: readonly GateStamp[];
  readonly reads: readonly GateStamp[];
}

/** The longest cooldown that a service can demand. */
const MAX_COOLDOWN_MS = 601_000;

/** The end of a cooldown that still counts, else 0: a later end was written before the steady clock restarted. */
export const parseCooldownEnd = (untilMs: number, nowMs: number): number =>
  untilMs > nowMs && untilMs < nowMs + MAX_COOLDOWN_MS ? untilMs : 0;

/** Parses stamps that still count. Damaged text counts as none, because the service enforces its limits itself. */
export const parseStamps = (text: string, nowMs: number, windowMs: number, openMs: number): GateStamp[] =>
  (parseJson(stampsSchema, text) ?? [])
    // A time of the future was written before the steady clock restarted, and counts as now.
    .map((stamp) => ({ ...stamp, atSteadyMs: Math.min(stamp.atSteadyMs, nowMs) }))
    .filter(({ atSteadyMs, isOpen }) => atSteadyMs > nowMs - windowMs - (isOpen === true ? openMs : 0));

const hasFutureStamp = (text: string, nowMs: number): boolean =>
  parseJson(stampsSchema, text)?.some(({ atSteadyMs }) => atSteadyMs > nowMs) === true;

/** Locks the row of this process's account until the transaction ends, and returns it. */
export async function openGate({ tx, ledger }: OpenTransaction): Promise<Gate> {
  const row = await ledger.database.lockGate(tx, ledger.identity.apiKeyId);
  const { id, nowSteadyMs } = row;
  const { windowMs, unansweredSlotMs } = buildLimitTiming(ledger.timeScale);
  const gate: Gate = {
    tx,
    ledger,
    id,
    nowSteadyMs,
    cooldownUntilMs: parseCooldownEnd(row.cooldown_until_steady_ms, nowSteadyMs),
    readCooldownUntilMs: parseCooldownEnd(row.read_cooldown_until_steady_ms, nowSteadyMs),
    sends: parseStamps(row.sends, nowSteadyMs, windowMs, unansweredSlotMs),
    reads: parseStamps(row.reads, nowSteadyMs, windowMs, 0),
  };
  // What was written before the steady clock restarted counts from now on, and not from each look anew.
  if (hasFutureStamp(row.sends, nowSteadyMs) || hasFutureStamp(row.reads, nowSteadyMs))
    await writeGate(gate, {});
  return gate;
}

/** Writes the row of an account with changes. What does not count any more is left out. */
export function writeGate(gate: Gate, changes: Partial<Gate>): Promise<unknown> {
  const { tx, id, cooldownUntilMs, readCooldownUntilMs, sends, reads } = { ...gate, ...changes };
  return tx
    .updateTable("agm_gate")
    .set({
      cooldown_until_steady_ms: cooldownUntilMs,
      read_cooldown_until_steady_ms: readCooldownUntilMs,
      sends: JSON.stringify(sends),
      reads: JSON.stringify(reads),
    })
    .where("id", "=", id)
    .execute();
}
