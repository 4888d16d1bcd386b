/** What a store keeps of narrations: a plan that never changes, a small state that does, and who drives it. */
import type { HolderId } from "../holder.ts";

export interface StoredNarration {
  readonly narrationId: string;
  /** Grows with every write of the state. */
  readonly revision: number;
  readonly state: string;
  /** Who drives it now. */
  readonly holder: HolderId | null;
}

export interface NewNarration {
  readonly narrationId: string;
  readonly plan: string;
  readonly state: string;
  /** By the wall clock. */
  readonly createdAtMs: number;
}

export interface NarrationClaim {
  readonly narrationId: string;
  readonly leaseTtlMs: number;
  /** A holder that is known to be dead: its lease is taken over at once. */
  readonly replacing?: HolderId | undefined;
}

/**
 * A store finds the narrations of this service that its own records are found by: SQLite those of the machine, Redis
 * those of the account. The state of the parts is that of their records, and stands nowhere here.
 */
export interface NarrationStore {
  /** Keeps a new one; where there is such a narration, nothing changes. */
  begin(narration: NewNarration): Promise<void>;
  plan(narrationId: string): Promise<string | undefined>;
  read(narrationId: string): Promise<StoredNarration | undefined>;
  /** Compare and set; `false`: somebody else has written it since, or it is gone. */
  write(narrationId: string, expectedRevision: number, state: string): Promise<boolean>;
  /** Takes or renews the lease. @returns who has it now; `null`: there is no such narration */
  lead(claim: NarrationClaim): Promise<HolderId | null>;
  release(narrationId: string): Promise<void>;
  /** Newest first. */
  newest(limit: number): Promise<StoredNarration[]>;
}
