/** Deletes rows that are of no use any more: refused requests, and wishes of processes that have ended. */
import { DAY_MS } from "../clock.ts";
import type { Ledger } from "./ledger.ts";
import { hasRareStatus } from "./request-rows.ts";
import { endWishesFor } from "./wishes.ts";

const REFUSAL_DAYS = 30;

/** Deletes requests of this API key that were refused long ago and never cost anything. */
export const deleteOldRefusals = (ledger: Ledger): Promise<void> =>
  ledger.database.tx(async (tx) => {
    const before = ledger.clock.wallMs() - REFUSAL_DAYS * DAY_MS;
    const old = await tx
      .selectFrom("agm_current_attempt")
      .select("id")
      .where(hasRareStatus("waiting"))
      .where("error_code", "is not", null)
      .where("attempt", "=", 1)
      .where("api_key_id", "=", ledger.identity.apiKeyId)
      .where("updated_at_ms", "<", before)
      .limit(500)
      .execute();
    if (old.length === 0) return;
    const ids = old.map((row) => row.id);
    await tx.deleteFrom("agm_attempt").where("request", "in", ids).execute();
    await tx.deleteFrom("agm_request").where("id", "in", ids).execute();
    await endWishesFor(tx, ids);
  });

/** Deletes wishes that have not stood for a long time. */
export const deleteDeadWishes = (ledger: Ledger): Promise<unknown> =>
  ledger.database.tx(async (tx, nowSteadyMs) => {
    const lapsed = await tx
      .selectFrom("agm_wish")
      .selectAll()
      .where((eb) =>
        eb.or([
          eb("lease_until_steady_ms", "<", nowSteadyMs - 20 * ledger.database.leaseMs),
          // A time far in the future was written before the steady clock restarted.
          eb("lease_until_steady_ms", ">", nowSteadyMs + 20 * ledger.database.leaseMs),
        ]),
      )
      .where("process", "!=", ledger.identity.processId)
      .execute();
    const ids = lapsed.map((wish) => wish.id);
    if (ids.length > 0) await tx.deleteFrom("agm_wish").where("id", "in", ids).execute();
  });
