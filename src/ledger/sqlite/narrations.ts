/** Narrations in the ledger file, each operation one transaction. */
import { z } from "zod";
import type { HolderId } from "../../holder.ts";
import type { NarrationClaim, NarrationStore, NewNarration, StoredNarration } from "../narration-store.ts";
import type { LedgerDatabase, Session } from "./database.ts";

const narrationRow = z
  .object({
    narration_id: z.string(),
    revision: z.int(),
    state: z.string(),
    lease_holder: z.string().nullable(),
    lease_at_ms: z.number().nullable(),
    lease_ttl_ms: z.number().nullable(),
  })
  .transform((row) => ({
    narrationId: row.narration_id,
    revision: row.revision,
    state: row.state,
    holder: row.lease_holder,
    leaseAtMs: row.lease_at_ms ?? 0,
    leaseTtlMs: row.lease_ttl_ms ?? 0,
  }));
type NarrationRow = z.infer<typeof narrationRow>;

const planRow = z.object({ plan: z.string() });

const COLUMNS = "narration_id, revision, state, lease_holder, lease_at_ms, lease_ttl_ms";

export interface NarrationsOptions {
  readonly database: LedgerDatabase;
  readonly origin: string;
  readonly holder: HolderId;
  /** Never set back but by a restart of the machine. */
  readonly steadyMs: () => number;
}

export class SqliteNarrations implements NarrationStore {
  readonly #options: NarrationsOptions;

  constructor(options: NarrationsOptions) {
    this.#options = options;
  }

  begin({ narrationId, plan, state, createdAtMs }: NewNarration): Promise<void> {
    const { database, origin } = this.#options;
    return database.write((session) => {
      const added = session.run(
        `INSERT INTO narrations (origin, narration_id, created_at_ms, revision, state)
         VALUES (?, ?, ?, 1, ?) ON CONFLICT DO NOTHING`,
        origin,
        narrationId,
        createdAtMs,
        state,
      );
      if (added === 0) return;
      session.run(
        "INSERT INTO narration_plans (origin, narration_id, plan) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        origin,
        narrationId,
        plan,
      );
    }, "process_kill");
  }

  plan(narrationId: string): Promise<string | undefined> {
    const { database, origin } = this.#options;
    return database.read((session) => {
      const row = session.get(
        "SELECT plan FROM narration_plans WHERE origin = ? AND narration_id = ?",
        origin,
        narrationId,
      );
      return row === undefined ? undefined : planRow.parse(row).plan;
    });
  }

  read(narrationId: string): Promise<StoredNarration | undefined> {
    return this.#options.database.read((session) => {
      const row = this.#find(session, narrationId);
      return row === undefined ? undefined : this.#shown(row);
    });
  }

  write(narrationId: string, expectedRevision: number, state: string): Promise<boolean> {
    const { database, origin } = this.#options;
    // What it may cost stands in the state.
    return database.write((session) => {
      const changed = session.run(
        `UPDATE narrations SET state = ?, revision = revision + 1
         WHERE origin = ? AND narration_id = ? AND revision = ?`,
        state,
        origin,
        narrationId,
        expectedRevision,
      );
      return changed > 0;
    }, "power_cut");
  }

  lead({ narrationId, leaseTtlMs, replacing }: NarrationClaim): Promise<HolderId | null> {
    const { database, origin, holder, steadyMs } = this.#options;
    return database.write((session) => {
      const row = this.#find(session, narrationId);
      if (row === undefined) return null;
      const current = this.#shown(row).holder;
      if (current !== null && current !== holder && current !== replacing) return current;
      session.run(
        `UPDATE narrations SET lease_holder = ?, lease_at_ms = ?, lease_ttl_ms = ?
         WHERE origin = ? AND narration_id = ?`,
        holder,
        steadyMs(),
        leaseTtlMs,
        origin,
        narrationId,
      );
      return holder;
    }, "process_kill");
  }

  release(narrationId: string): Promise<void> {
    const { database, origin, holder } = this.#options;
    return database.write((session) => {
      session.run(
        `UPDATE narrations SET lease_holder = NULL, lease_at_ms = NULL, lease_ttl_ms = NULL
         WHERE origin = ? AND narration_id = ? AND lease_holder = ?`,
        origin,
        narrationId,
        holder,
      );
    }, "process_kill");
  }

  newest(limit: number): Promise<StoredNarration[]> {
    const { database, origin } = this.#options;
    return database.read((session) =>
      narrationRow
        .array()
        .parse(
          session.all(
            `SELECT ${COLUMNS} FROM narrations WHERE origin = ? ORDER BY created_at_ms DESC, narration_id LIMIT ?`,
            origin,
            limit,
          ),
        )
        .map((row) => this.#shown(row)),
    );
  }

  #find(session: Session, narrationId: string): NarrationRow | undefined {
    const row = session.get(
      `SELECT ${COLUMNS} FROM narrations WHERE origin = ? AND narration_id = ?`,
      this.#options.origin,
      narrationId,
    );
    return row === undefined ? undefined : narrationRow.parse(row);
  }

  /** A lease that lies ahead of the clock is of the time before a restart of the machine: its holder is dead. */
  #shown({ narrationId, revision, state, holder, leaseAtMs, leaseTtlMs }: NarrationRow): StoredNarration {
    const ageMs = this.#options.steadyMs() - leaseAtMs;
    return { narrationId, revision, state, holder: ageMs >= 0 && ageMs < leaseTtlMs ? holder : null };
  }
}
