/** What may be asked of the ledger with a change of a record, and what asking for a create comes to. */
import type { AdmitRequest, CreateHold, Settlement } from "./ledger-store.ts";
import type { TaskRecord } from "./record.ts";

export interface ChangeOptions {
  /** A slot whose request has ended with this change. */
  readonly settle?: Settlement | undefined;
  readonly lease?: "renew" | "release";
}

/** What the limits allow a create; see {@link AdmitRequest}. */
export type CreateLimits = Omit<AdmitRequest, "after" | "expectedRevision" | "slotId">;

export type Admitted =
  | { readonly kind: "admitted"; readonly record: TaskRecord }
  /** Somebody else has moved the record on, removed it, or drives it now. */
  | { readonly kind: "changed"; readonly record: TaskRecord | null; readonly isLeaseLost: boolean }
  | { readonly kind: "over_budget"; readonly countedCredits: number }
  | { readonly kind: "held"; readonly reason: CreateHold; readonly waitMs: number };
