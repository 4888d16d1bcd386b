/** Finds narrations and requests whose texts are nearly those of a narration. */
import { sql } from "kysely";
import { splitRows } from "./database.ts";
import { isVisible, type Ledger } from "./ledger.ts";
import { selectNarrations } from "./narration-rows.ts";
import { type OpenTransaction, runSnapshot } from "./open-transaction.ts";
import { findRequestsByLoose } from "./request-rows.ts";
import { type NarrationRow, type PartRow, parseNarrations, type RequestRow } from "./schema.ts";
import { isWanted, listStandingWishes } from "./wishes.ts";

/**
 * Finds the begun narration of which a text most likely is a newer version: of those that share the most parts, the
 * one that was started last.
 */
export async function findPredecessor(
  ledger: Ledger,
  inputs: readonly string[],
  exceptId: string,
): Promise<string | null> {
  const found = new Map<string, { shared: number; readonly startedAtMs: number }>();
  for (const some of splitRows([...new Set(inputs)])) {
    const rows = await ledger.database.run((db) =>
      db
        .selectFrom("agm_part")
        .innerJoin("agm_narration", "agm_narration.id", "agm_part.narration")
        .select([
          "agm_narration.id",
          "agm_narration.started_at_ms",
          sql<number>`COUNT(DISTINCT agm_part.input)`.as("shared"),
        ])
        .where("agm_part.input", "in", some)
        .where("agm_narration.status", "!=", "planned")
        .where("agm_narration.id", "!=", exceptId)
        .where(isVisible(ledger, "agm_narration.api_key_id"))
        .groupBy(["agm_narration.id", "agm_narration.started_at_ms"])
        .execute(),
    );
    for (const { id, started_at_ms: startedAtMs, shared } of rows)
      found.set(id, { startedAtMs, shared: Number(shared) + (found.get(id)?.shared ?? 0) });
  }
  const [best] = [...found].sort(([, a], [, b]) => b.shared - a.shared || b.startedAtMs - a.startedAtMs);
  return best?.[0] ?? null;
}

/** Lists the running narrations that somebody wants. */
export const listWantedNarrations = (ledger: Ledger): Promise<NarrationRow[]> =>
  runSnapshot(ledger, async (open) => {
    const running = await selectNarrations(open.tx, ledger).where("status", "=", "running").execute();
    const wanted: NarrationRow[] = [];
    for (const narration of parseNarrations(running))
      if ((await listStandingWishes(open, narration.id)).length > 0) wanted.push(narration);
    return wanted;
  });

/** A part that a wanted narration has not begun. */
type PartToCome = Pick<PartRow, "narration" | "position" | "loose" | "fingerprint">;

/** Finds the parts of wanted narrations that have not begun and differ at most in typing or pronunciations. */
export async function findPartsToCome(
  open: OpenTransaction,
  loose: readonly string[],
): Promise<PartToCome[]> {
  const parts = await open.tx
    .selectFrom("agm_part")
    .innerJoin("agm_narration", "agm_narration.id", "agm_part.narration")
    .select(["agm_part.narration", "agm_part.position", "agm_part.loose", "agm_part.fingerprint"])
    .where("agm_part.loose", "in", loose)
    .where("agm_narration.status", "=", "running")
    .where(isVisible(open.ledger, "agm_narration.api_key_id"))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("agm_request")
            .select("id")
            .whereRef("agm_request.fingerprint", "=", "agm_part.fingerprint"),
        ),
      ),
    )
    .execute();
  const wanted = new Set<string>();
  for (const id of new Set(parts.map(({ narration }) => narration)))
    if ((await listStandingWishes(open, id)).length > 0) wanted.add(id);
  return parts.filter(({ narration }) => wanted.has(narration));
}

/** What speaks texts, or is about to, that differ at most in typing or pronunciations. */
export interface NearlyEqual {
  readonly requests: ReadonlyArray<{ readonly row: RequestRow; readonly isWanted: boolean }>;
  readonly partsToCome: readonly PartToCome[];
}

/** Finds the requests that are nearly equal to parts, and the parts to come. */
export const findNearlyEqual = (ledger: Ledger, parts: readonly PartRow[]): Promise<NearlyEqual> =>
  runSnapshot(ledger, async (open) => {
    const requests: Array<NearlyEqual["requests"][number]> = [];
    const partsToCome: PartToCome[] = [];
    for (const loose of splitRows([...new Set(parts.map((part) => part.loose))])) {
      for (const row of await findRequestsByLoose(open.tx, ledger, loose, "visible"))
        requests.push({ row, isWanted: row.status === "waiting" && (await isWanted(open, row.id)) });
      partsToCome.push(...(await findPartsToCome(open, loose)));
    }
    return { requests, partsToCome };
  });

/** So many requests are enough to find the narrations that somebody may mean. */
const MAX_FINGERPRINTS = 100;

/** Lists the begun narrations that have requests as parts, the newest first. */
export async function listNarrationsWith(
  ledger: Ledger,
  fingerprints: readonly string[],
  exceptId: string,
): Promise<NarrationRow[]> {
  const rows = await ledger.database.run((db) =>
    selectNarrations(db, ledger)
      .where("id", "in", (eb) =>
        eb
          .selectFrom("agm_part")
          .select("narration")
          .where("fingerprint", "in", fingerprints.slice(0, MAX_FINGERPRINTS)),
      )
      .where("status", "!=", "planned")
      .where("id", "!=", exceptId)
      .orderBy("started_at_ms", "desc")
      .execute(),
  );
  return parseNarrations(rows);
}
