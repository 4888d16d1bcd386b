/** Which records take a place in flight now, and until when: creates without an answer, and tasks that run. */
import { z } from "zod";
import { IN_FLIGHT_AT_MOST_MS } from "../horizons.ts";
import type { AdmitRequest } from "../ledger-store.ts";
import type { Session } from "./database.ts";

const flightRow = z.object({
  id: z.int(),
  key: z.string(),
  account_id: z.string(),
  flight: z.enum(["sent", "accepted"]),
  flight_at_ms: z.number(),
  alive_at_ms: z.number().nullable(),
});
type FlightRow = z.infer<typeof flightRow>;
type Lapse = Pick<AdmitRequest, "lapseMs" | "windowMs">;

const SELECT = `SELECT id, key, account_id, flight, flight_at_ms, alive.seen_at_ms AS alive_at_ms
  FROM records LEFT JOIN alive ON alive.holder = flight_holder`;

/** When a place is free again by itself; a task's end frees it earlier. */
function endMs(row: FlightRow, { lapseMs, windowMs }: Lapse): number {
  if (row.flight === "accepted") return row.flight_at_ms + IN_FLIGHT_AT_MOST_MS;
  const seenAtMs = Math.max(row.flight_at_ms, row.alive_at_ms ?? row.flight_at_ms);
  // A living process that gave an attempt up must not hold its place for as long as it lives.
  return Math.min(seenAtMs + lapseMs, row.flight_at_ms + windowMs + lapseMs);
}

/** Dates that lie ahead were set before the machine restarted its steady clock: they count from now, once. */
function read(session: Session, nowMs: number, rows: readonly unknown[]): FlightRow[] {
  return rows
    .flatMap((row) => {
      // A damaged place is nobody's: it must not keep all others from being sent.
      const parsed = flightRow.safeParse(row);
      return parsed.success ? [parsed.data] : [];
    })
    .map((row) => {
      if (row.flight_at_ms <= nowMs) return row;
      session.run("UPDATE records SET flight_at_ms = ? WHERE id = ?", nowMs, row.id);
      return { ...row, flight_at_ms: nowMs };
    });
}

/** When the account's other records free their places, soonest first; only those that are taken now. */
export function othersInFlight(
  session: Session,
  nowMs: number,
  lapse: Lapse,
  own: { readonly accountId: string; readonly key: string },
): number[] {
  const rows = session.all(`${SELECT} WHERE account_id = ? AND flight IS NOT NULL`, own.accountId);
  const ends: number[] = [];
  for (const row of read(session, nowMs, rows)) {
    if (row.key === own.key) continue;
    const atMs = endMs(row, lapse);
    if (atMs > nowMs) ends.push(atMs);
    else if (atMs <= nowMs - IN_FLIGHT_AT_MOST_MS) {
      // Nobody ever told its end. The date stays, so that a later write knows that its place is long over.
      session.run("UPDATE records SET flight = NULL WHERE id = ?", row.id);
    }
  }
  return ends.sort((a, b) => a - b);
}
