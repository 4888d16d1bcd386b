/** Rows of records: how they are read, and the statements that write one with its names and its share of the sums. */
import { z } from "zod";
import type { Row } from "../record.ts";
import type { Lease } from "../rules/lease.ts";
import type { Place } from "../rules/places.ts";
import { spendChanges, spendShare } from "../rules/spend.ts";
import { type Rows, type Statement, sql } from "./sql-engine.ts";

export interface RecordName {
  readonly accountId: string;
  readonly recordId: string;
}

const leaseColumns = {
  lease_owner: z.string().nullable().catch(null),
  lease_at_ms: z.number().nullable().catch(null),
  lease_ttl_ms: z.number().nullable().catch(null),
};

/** The lease in the columns of a record or a narration. */
export const leaseRow = z
  .object(leaseColumns)
  .transform(({ lease_owner: owner, lease_at_ms: atMs, lease_ttl_ms: ttlMs }): Lease | null =>
    owner === null || atMs === null || ttlMs === null ? null : { owner, atMs, ttlMs },
  );

export const leaseValues = (lease: Lease | null): [string | null, number | null, number | null] => [
  lease?.owner ?? null,
  lease?.atMs ?? null,
  lease?.ttlMs ?? null,
];

/** Damaged cells count as empty: the value is compared with the revision, and set aside when they differ. */
const placeColumns = {
  flight: z.enum(["sent", "accepted"]).nullable().catch(null),
  flight_at_ms: z.number().nullable().catch(null),
  flight_owner: z.string().nullable().catch(null),
};
const toPlace = (row: z.infer<z.ZodObject<typeof placeColumns>>): Place => ({
  flight: row.flight,
  atMs: row.flight_at_ms,
  owner: row.flight_owner,
});

const storedSchema = z
  .object({
    status: z.string().nullable().catch(null),
    origin: z.string(),
    revision: z.int().nullable().catch(null),
    spend_quarter: z.int().nullable().catch(null),
    spend_credits: z.number().nullable().catch(null),
    value: z.string(),
    ...placeColumns,
    ...leaseColumns,
  })
  .transform((row) => ({
    status: row.status,
    origin: row.origin,
    revision: row.revision,
    value: row.value,
    place: toPlace(row),
    lease: leaseRow.parse(row),
    spend:
      row.spend_quarter === null || row.spend_credits === null
        ? null
        : { quarter: row.spend_quarter, credits: row.spend_credits },
  }));
const nameRow = z.object({ name: z.string() }).transform(({ name }) => name);
const valueRow = z
  .object({ key_id: z.string(), record_id: z.string(), value: z.string() })
  .transform((row) => ({ accountId: row.key_id, recordId: row.record_id, value: row.value }));
const otherPlaceRow = z
  .object({ record_id: z.string(), ...placeColumns })
  .transform((row) => ({ recordId: row.record_id, place: toPlace(row) }));

/** A value as it is stored, with the name of its record. */
export type StoredValue = z.infer<typeof valueRow>;
export type OtherPlace = z.infer<typeof otherPlaceRow>;
export type StoredRow = z.infer<typeof storedSchema> & { readonly names: readonly string[] };

/** Skips rows whose cells are damaged, because one of them must not hide all others. */
export function readableRows<T>(schema: z.ZodType<T>, rows: Rows): T[] {
  return rows.flatMap((row) => {
    const parsed = schema.safeParse(row);
    return parsed.success ? [parsed.data] : [];
  });
}

export const storedValues = (rows: Rows): StoredValue[] => readableRows(valueRow, rows);
export const otherPlaces = (rows: Rows): OtherPlace[] => readableRows(otherPlaceRow, rows);

/** The two statements whose rows {@link storedRow} takes. */
export const loadRow = ({ accountId, recordId }: RecordName): Statement[] => [
  sql("SELECT * FROM agm_records WHERE key_id = ? AND record_id = ?", accountId, recordId),
  sql("SELECT name FROM agm_names WHERE key_id = ? AND record_id = ?", accountId, recordId),
];

export function storedRow(rows: Rows | undefined, names: Rows | undefined): StoredRow | undefined {
  const [row] = rows ?? [];
  if (row === undefined) return undefined;
  return { ...storedSchema.parse(row), names: readableRows(nameRow, names ?? []) };
}

/** Writes a row over what is stored. */
export function saveRow(
  stored: StoredRow | undefined,
  row: Row,
  { place, lease }: { readonly place: Place; readonly lease: Lease | null },
): Statement[] {
  const spend = spendShare(row.spend);
  const columns = [
    row.origin,
    row.status,
    row.isOpen ? 1 : 0,
    row.isListed ? 1 : 0,
    row.createdAtMs,
    row.revision,
    place.flight,
    place.atMs,
    place.owner,
    spend?.quarter ?? null,
    spend?.credits ?? null,
    ...leaseValues(lease),
    row.value,
  ];
  const upsert = sql(
    `INSERT INTO agm_records (key_id, record_id, origin, status, is_open, is_listed, created_at_ms, revision, flight,
       flight_at_ms, flight_owner, spend_quarter, spend_credits, lease_owner, lease_at_ms, lease_ttl_ms, value)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (key_id, record_id) DO UPDATE SET origin = excluded.origin, status = excluded.status,
       is_open = excluded.is_open, is_listed = excluded.is_listed, created_at_ms = excluded.created_at_ms,
       revision = excluded.revision, flight = excluded.flight, flight_at_ms = excluded.flight_at_ms,
       flight_owner = excluded.flight_owner, spend_quarter = excluded.spend_quarter,
       spend_credits = excluded.spend_credits, lease_owner = excluded.lease_owner,
       lease_at_ms = excluded.lease_at_ms, lease_ttl_ms = excluded.lease_ttl_ms, value = excluded.value`,
    row.accountId,
    row.recordId,
    ...columns,
  );
  return [
    upsert,
    ...saveNames(row, stored?.names ?? [], row.names),
    ...saveSpend(row.origin, stored?.spend ?? null, spend),
  ];
}

/**
 * Removes a row with its lease, its place and its names.
 *
 * @param keepsSpend true where the money is gone although the record is
 */
export function dropRow(name: RecordName, stored: StoredRow, keepsSpend: boolean): Statement[] {
  return [
    sql("DELETE FROM agm_records WHERE key_id = ? AND record_id = ?", name.accountId, name.recordId),
    ...saveNames(name, stored.names, []),
    ...(keepsSpend ? [] : saveSpend(stored.origin, stored.spend, null)),
  ];
}

export const saveLease = ({ accountId, recordId }: RecordName, lease: Lease | null): Statement =>
  sql(
    "UPDATE agm_records SET lease_owner = ?, lease_at_ms = ?, lease_ttl_ms = ? WHERE key_id = ? AND record_id = ?",
    ...leaseValues(lease),
    accountId,
    recordId,
  );

function saveNames(
  { accountId, recordId }: RecordName,
  before: readonly string[],
  after: readonly string[],
): Statement[] {
  return [
    ...before
      .filter((name) => !after.includes(name))
      .map((name) =>
        sql(
          "DELETE FROM agm_names WHERE name = ? AND key_id = ? AND record_id = ?",
          name,
          accountId,
          recordId,
        ),
      ),
    ...after
      .filter((name) => !before.includes(name))
      .map((name) =>
        sql(
          "INSERT INTO agm_names (name, key_id, record_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
          name,
          accountId,
          recordId,
        ),
      ),
  ];
}

function saveSpend(
  origin: string,
  before: Parameters<typeof spendChanges>[0],
  after: Parameters<typeof spendChanges>[1],
): Statement[] {
  return spendChanges(before, after).map(({ quarter, credits }) =>
    credits > 0
      ? sql(
          `INSERT INTO agm_spend (origin, quarter, credits) VALUES (?, ?, ?)
           ON CONFLICT (origin, quarter) DO UPDATE SET credits = agm_spend.credits + excluded.credits`,
          origin,
          quarter,
          credits,
        )
      : // A sum that was deleted for its age has nothing left to subtract from.
        sql(
          `UPDATE agm_spend SET credits = CASE WHEN credits > ? THEN credits - ? ELSE 0 END
           WHERE origin = ? AND quarter = ?`,
          -credits,
          -credits,
          origin,
          quarter,
        ),
  );
}
