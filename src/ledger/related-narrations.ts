/** Finds narrations and requests whose texts are nearly those of a narration. */
import { sql } from "kysely";
import { splitRows, type Tx } from "./database.ts";
import { isVisible, type Ledger } from "./ledger.ts";
import { selectNarrations, selectParts } from "./narration-rows.ts";
import { type NarrationRow, type PartRow, parseNarrations, type RequestRow } from "./schema.ts";
import { listPayers, listStandingWishes } from "./wishes.ts";

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

/** Finds running narrations all of whose parts differ at most in typing from those of a text, with their parts. */
export const findRetypedNarrations = (
  ledger: Ledger,
  looseParts: readonly string[],
): Promise<Array<{ readonly narration: NarrationRow; readonly parts: readonly PartRow[] }>> =>
  ledger.database.snapshot(async (tx, nowSteadyMs) => {
    const candidates = await selectNarrations(tx, ledger)
      .where("status", "=", "running")
      .where("id", "in", (eb) =>
        eb
          .selectFrom("agm_part")
          .select("narration")
          .where("loose", "=", looseParts[0] ?? "")
          .where("position", "=", 0),
      )
      .execute();
    const found: Array<{ readonly narration: NarrationRow; readonly parts: readonly PartRow[] }> = [];
    for (const narration of parseNarrations(candidates)) {
      const parts = await selectParts(tx, narration.id);
      const isSame =
        parts.length === looseParts.length && parts.every(({ loose }, i) => loose === looseParts[i]);
      if (!isSame) continue;
      const wishes = await listStandingWishes(tx, ledger, nowSteadyMs, narration.id);
      if (wishes.length > 0) found.push({ narration, parts });
    }
    return found;
  });

/**
 * Finds the wanted narration that will have a request's text made, typed otherwise, as a part that it has not begun.
 *
 * @returns its id and the position of the part
 */
export async function findPartToCome(
  tx: Tx,
  ledger: Ledger,
  nowSteadyMs: number,
  { loose, fingerprint }: Pick<RequestRow, "loose" | "fingerprint">,
): Promise<Pick<PartRow, "narration" | "position"> | undefined> {
  const parts = await tx
    .selectFrom("agm_part")
    .innerJoin("agm_narration", "agm_narration.id", "agm_part.narration")
    .select(["agm_part.narration", "agm_part.position"])
    .where("agm_part.loose", "=", loose ?? "")
    .where("agm_part.fingerprint", "!=", fingerprint)
    .whereRef("agm_part.fingerprint", "=", "agm_part.input")
    .where("agm_narration.status", "=", "running")
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
  for (const part of parts) {
    const wishes = await listStandingWishes(tx, ledger, nowSteadyMs, part.narration);
    if (wishes.length > 0) return part;
  }
  return undefined;
}

/** A paid request that differs from a part's at most in typing or pronunciations. */
export interface NearlyEqualRequest
  extends Pick<RequestRow, "id" | "fingerprint" | "body" | "written" | "status" | "finished_at_ms"> {
  readonly position: number;
}

/**
 * Finds requests that were paid for, are under way or are about to be sent, and that are nearly those of parts which
 * were not paid for.
 */
export const findNearlyEqualRequests = (ledger: Ledger, id: string): Promise<NearlyEqualRequest[]> =>
  ledger.database.snapshot(async (tx, nowSteadyMs) => {
    const found = await tx
      .selectFrom("agm_part")
      .innerJoin("agm_task", (join) =>
        join
          .onRef("agm_task.loose", "=", "agm_part.loose")
          .onRef("agm_task.fingerprint", "!=", "agm_part.fingerprint"),
      )
      .select([
        "agm_part.position",
        "agm_task.id",
        "agm_task.fingerprint",
        "agm_task.body",
        "agm_task.written",
        "agm_task.status",
        "agm_task.finished_at_ms",
      ])
      .where("agm_part.narration", "=", id)
      .whereRef("agm_part.input", "=", "agm_part.fingerprint")
      .where("agm_task.api_key_id", "=", ledger.identity.apiKeyId)
      .where((eb) =>
        eb.or([
          eb("agm_task.status", "in", ["waiting", "succeeded", "saved"]),
          eb("agm_task.is_open", "=", 1),
        ]),
      )
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom("agm_task as own")
              .select("own.id")
              .whereRef("own.fingerprint", "=", "agm_part.fingerprint")
              .where((or) =>
                or.or([or("own.status", "in", ["succeeded", "saved"]), or("own.is_open", "=", 1)]),
              ),
          ),
        ),
      )
      .orderBy("agm_part.position")
      .execute();
    const nearly: NearlyEqualRequest[] = [];
    for (const request of found) {
      const isMade = request.status !== "waiting";
      if (isMade || (await listPayers(tx, ledger, nowSteadyMs, request.id)).length > 0) nearly.push(request);
    }
    return nearly;
  });

/** So many requests are enough to find the narrations that somebody may mean. */
const MAX_FINGERPRINTS = 100;

/** Lists the begun narrations that have requests as parts, the newest first. */
export async function listNarrationsWith(
  ledger: Ledger,
  fingerprints: readonly string[],
  exceptId: string,
): Promise<string[]> {
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
  return rows.map(({ id }) => id);
}
