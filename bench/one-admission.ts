/** Owns one admission of a create under a budget, as the bench times it. */
import { systemClock } from "../src/clock.ts";
import { newRecord } from "../src/generation/use-cases/find-record.ts";
import type { Ledger } from "../src/ledger/ledger.ts";

/** Nothing here is held back: what holding back takes is no cost of the ledger. */
const LIMITS = {
  maxCreates: 1_000_000,
  windowMs: 60_000,
  maxInFlight: 1000,
  lapseMs: 30_000,
  budget: { credits: 1e12, windowMs: 24 * 60 * 60 * 1000 },
};

/**
 * Claims a record, admits its create, takes that back and removes the record.
 *
 * @param name of this admission alone
 * @returns milliseconds of the admission
 */
export async function admitAndTakeBack(ledger: Ledger, name: string): Promise<number> {
  const work = {
    input: JSON.stringify({ prompt: `Admitted ${name}` }),
    take: 1,
    fileName: null,
    shelf: "output",
  } as const;
  const { record } = await ledger.claim(newRecord({ ledger, clock: systemClock }, work));
  const send = `send ${name}`;
  const beganAtMs = performance.now();
  const admission = await ledger.admit(record, send, LIMITS);
  const tookMs = performance.now() - beganAtMs;
  if (admission.kind !== "admitted") throw new Error(`the create was not admitted: ${admission.kind}`);
  const stored = await ledger.takeBack(admission.record, send);
  if (stored === null) throw new Error("the record is gone");
  await ledger.store.write({ ...stored, expectedRevision: stored.revision, after: null });
  return tookMs;
}
