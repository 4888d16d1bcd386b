/** Lets queries and downloads of an account leave, within 60 a minute and outside the pauses of the service. */
import { READS_PER_WINDOW } from "../contract/service-limits.ts";
import { type GateStamp, openGate, writeGate } from "./gate.ts";
import type { Ledger } from "./ledger.ts";
import { buildLimitTiming, computePollSpacingMs, MAX_POLLS } from "./limit-timing.ts";
import { runSnapshot, runTransaction } from "./open-transaction.ts";

/** Why a read has to wait. `pace`: polls leave room for other reads. */
export interface ReadHold {
  readonly reason: "rate" | "cooldown" | "pace";
  readonly waitMs: number;
}

/** Judges a read by the reads of the last minute and by the pause; `null` if it may leave. */
export function decideReadHold(
  reads: readonly GateStamp[],
  cooldownUntilMs: number,
  isPoll: boolean,
  windowMs: number,
  nowMs: number,
): ReadHold | null {
  if (cooldownUntilMs > nowMs) return { reason: "cooldown", waitMs: Math.ceil(cooldownUntilMs - nowMs) };
  if (isPoll) {
    const lastPollMs = reads.findLast((read) => read.isPoll === true)?.atSteadyMs;
    const paceMs = (lastPollMs ?? -windowMs) + computePollSpacingMs(reads.length, windowMs) - nowMs;
    if (lastPollMs !== undefined && paceMs > 0) return { reason: "pace", waitMs: Math.ceil(paceMs) };
  }
  const most = isPoll ? MAX_POLLS : READS_PER_WINDOW;
  const blocking = reads[reads.length - most];
  if (blocking === undefined) return null;
  return { reason: "rate", waitMs: Math.max(1, Math.ceil(blocking.atSteadyMs + windowMs - nowMs)) };
}

/**
 * Asks for leave to query a task or to download. A yes is counted at once.
 *
 * @returns `null` if it may leave
 */
export const requestRead = (ledger: Ledger, isPoll: boolean): Promise<ReadHold | null> =>
  runTransaction(ledger, async (open) => {
    const gate = await openGate(open);
    const { nowSteadyMs, reads } = gate;
    const { windowMs } = buildLimitTiming(ledger.timeScale);
    const hold = decideReadHold(reads, gate.readCooldownUntilMs, isPoll, windowMs, nowSteadyMs);
    const read = { atSteadyMs: nowSteadyMs, ...(isPoll ? { isPoll } : {}) };
    if (hold === null) await writeGate(gate, { reads: [...reads, read] });
    return hold;
  });

/** Pauses the reads of every process of this account, because the service asked for it. */
export const startReadCooldown = (ledger: Ledger, pauseMs: number): Promise<void> =>
  runTransaction(ledger, async (open) => {
    const gate = await openGate(open);
    const readCooldownUntilMs = Math.max(gate.readCooldownUntilMs, gate.nowSteadyMs + pauseMs);
    await writeGate(gate, { readCooldownUntilMs });
  });

/** How long ago a request was last polled, by whichever process; infinite if never. */
export const readSincePollMs = (ledger: Ledger, id: string): Promise<number> =>
  runSnapshot(ledger, async ({ tx, nowSteadyMs }) => {
    const row = await tx
      .selectFrom("agm_current_attempt")
      .select("polled_steady_ms")
      .where("id", "=", id)
      .executeTakeFirst();
    const polledMs = row?.polled_steady_ms ?? 0;
    return polledMs === 0 ? Number.POSITIVE_INFINITY : Math.max(0, nowSteadyMs - polledMs);
  });
