/** Narrations in the ledger: a plan that never changes, a small state that does, and which process drives it. */
import type Keyv from "keyv";
import { z } from "zod";
import type { HolderId } from "../../holder.ts";
import type { AccountId } from "../identity.ts";
import { acquiredLease, leaseOwner, releasedLease } from "../rules/lease.ts";
import { leaseRow, leaseValues } from "./record-rows.ts";
import { type Rows, type SqlEngine, type Statement, sql } from "./sql-engine.ts";

export interface StoredNarration {
  readonly narrationId: string;
  /** Grows with every write of the state. */
  readonly revision: number;
  readonly state: string;
  /** The process that drives it now. */
  readonly holder: HolderId | null;
}

export interface NewNarration {
  readonly narrationId: string;
  readonly plan: string;
  readonly state: string;
  /** Wall clock. */
  readonly createdAtMs: number;
}

export interface NarrationClaim {
  readonly narrationId: string;
  readonly leaseTtlMs: number;
  /** An owner that is known to be dead: its lease is taken over at once. */
  readonly replacing?: HolderId | undefined;
}

export interface NarrationStoreOptions {
  readonly engine: SqlEngine;
  readonly documents: Keyv<unknown>;
  readonly identity: { readonly origin: string; readonly accountId: AccountId; readonly holder: HolderId };
  readonly machineId: string;
}

const narrationRow = z.object({
  key_id: z.string(),
  narration_id: z.string(),
  revision: z.int(),
  state: z.string(),
  created_at_ms: z.number(),
});

const planName = (keyId: string, narrationId: string): string => `plan:${keyId}/${narrationId}`;

/**
 * Finds the narrations of this API key, and of the other keys that this machine has used at the origin, because a
 * key that was replaced must not hide a narration. How the parts stand is what their records say.
 */
export class NarrationStore {
  readonly #options: NarrationStoreOptions;

  constructor(options: NarrationStoreOptions) {
    this.#options = options;
  }

  /** Keeps a new narration; where there is one of that id, nothing changes. */
  async begin({ narrationId, plan, state, createdAtMs }: NewNarration): Promise<void> {
    const { engine, documents, identity } = this.#options;
    if ((await this.#keyOf(narrationId)) !== undefined) return;
    const { origin, accountId } = identity;
    // The plan comes first: a narration that can be seen has one.
    await documents.set(planName(accountId, narrationId), plan);
    const insert = sql(
      `INSERT INTO agm_narrations (key_id, narration_id, origin, created_at_ms, revision, state)
       VALUES (?, ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING`,
      accountId,
      narrationId,
      origin,
      createdAtMs,
      state,
    );
    await engine.transact({
      durability: "process_kill",
      locks: [],
      load: [],
      decide: () => ({ result: undefined, save: [insert] }),
    });
  }

  async plan(narrationId: string): Promise<string | undefined> {
    const keyId = await this.#keyOf(narrationId);
    if (keyId === undefined) return undefined;
    const plan = await this.#options.documents.get(planName(keyId, narrationId));
    return plan === undefined ? undefined : z.string().parse(plan);
  }

  read(narrationId: string): Promise<StoredNarration | undefined> {
    return this.#decide(narrationId, "process_kill", (found) => ({ result: found }));
  }

  /** Compare and set; `false`: another process has written it since, or it is gone. */
  write(narrationId: string, expectedRevision: number, state: string): Promise<boolean> {
    // The state holds what the narration may cost.
    return this.#decide(narrationId, "power_cut", (found, keyId) => {
      const isWritten = found?.revision === expectedRevision + 1 && found.state === state;
      if (isWritten) return { result: true };
      if (found?.revision !== expectedRevision) return { result: false };
      const update = sql(
        "UPDATE agm_narrations SET state = ?, revision = ? WHERE key_id = ? AND narration_id = ?",
        state,
        expectedRevision + 1,
        keyId,
        narrationId,
      );
      return { result: true, save: [update] };
    });
  }

  /**
   * Takes or renews the lease.
   *
   * @returns its owner now; `null`: there is no such narration
   */
  lead({ narrationId, leaseTtlMs, replacing }: NarrationClaim): Promise<HolderId | null> {
    const { holder: owner } = this.#options.identity;
    return this.#decide(narrationId, "process_kill", (found, keyId, lease, nowMs) => {
      if (found === undefined) return { result: null };
      const taken = acquiredLease(lease, { owner, ttlMs: leaseTtlMs, replacing }, nowMs);
      const save = taken.atMs === lease?.atMs && taken.owner === lease.owner ? [] : [saveLease(keyId, narrationId, taken)];
      return { result: taken.owner, save };
    });
  }

  release(narrationId: string): Promise<void> {
    const { holder } = this.#options.identity;
    return this.#decide(narrationId, "process_kill", (_found, keyId, lease) => ({
      result: undefined,
      save: lease?.owner === holder ? [saveLease(keyId, narrationId, releasedLease(lease, holder))] : [],
    }));
  }

  /** Newest first. */
  newest(limit: number): Promise<StoredNarration[]> {
    const { engine, identity, machineId } = this.#options;
    return engine.transact({
      durability: "process_kill",
      locks: [],
      load: [
        sql(
          `SELECT * FROM agm_narrations WHERE origin = ? AND ${VISIBLE}
           ORDER BY created_at_ms DESC, narration_id LIMIT ?`,
          identity.origin,
          identity.accountId,
          machineId,
          limit,
        ),
      ],
      decide: ({ loaded: [rows = []], steadyMs }) => ({
        result: rows.map((row) => shown(row, steadyMs)),
        save: [],
      }),
    });
  }

  async #keyOf(narrationId: string): Promise<string | undefined> {
    const [rows = []] = await this.#options.engine.read([this.#find(narrationId, "")]);
    return rows[0] === undefined ? undefined : narrationRow.parse(rows[0]).key_id;
  }

  #find(narrationId: string, lock: "" | " FOR UPDATE"): Statement {
    const { identity, machineId } = this.#options;
    const { origin, accountId } = identity;
    return sql(
      `SELECT * FROM agm_narrations WHERE narration_id = ? AND origin = ? AND ${VISIBLE}
       ORDER BY CASE WHEN key_id = ? THEN 0 ELSE 1 END, created_at_ms, key_id LIMIT 1${lock}`,
      narrationId,
      origin,
      accountId,
      machineId,
      accountId,
    );
  }

  #decide<T>(
    narrationId: string,
    durability: "power_cut" | "process_kill",
    decide: (
      found: StoredNarration | undefined,
      keyId: string,
      lease: ReturnType<typeof leaseRow.parse>,
      nowMs: number,
    ) => { readonly result: T; readonly save?: readonly Statement[] },
  ): Promise<T> {
    const { engine } = this.#options;
    return engine.transact({
      durability,
      locks: [this.#find(narrationId, engine.forUpdate)],
      load: [],
      decide: ({ locked, steadyMs }) => {
        const row = rowsOf(locked)[0];
        if (row === undefined) {
          const { result } = decide(undefined, "", null, steadyMs);
          return { result, save: [] };
        }
        const { key_id } = narrationRow.parse(row);
        const { result, save = [] } = decide(shown(row, steadyMs), key_id, leaseRow.parse(row), steadyMs);
        return { result, save };
      },
    });
  }
}

const VISIBLE = `(key_id = ? OR EXISTS (SELECT 1 FROM agm_machine_keys m
  WHERE m.machine_id = ? AND m.key_id = agm_narrations.key_id))`;

const rowsOf = (locked: readonly Rows[]): Rows => locked[0] ?? [];

function shown(row: unknown, nowMs: number): StoredNarration {
  const { narration_id: narrationId, revision, state } = narrationRow.parse(row);
  return { narrationId, revision, state, holder: leaseOwner(leaseRow.parse(row), nowMs) };
}

const saveLease = (keyId: string, narrationId: string, lease: Parameters<typeof leaseValues>[0]): Statement =>
  sql(
    "UPDATE agm_narrations SET lease_owner = ?, lease_at_ms = ?, lease_ttl_ms = ? WHERE key_id = ? AND narration_id = ?",
    ...leaseValues(lease),
    keyId,
    narrationId,
  );
