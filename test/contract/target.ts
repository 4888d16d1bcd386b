/** The description of the service under test. */

/** Faults to simulate. Only a sandbox can do that. */
export interface FaultControls {
  readonly fail_next_tasks?: number;
  readonly unavailable?: "api_unavailable" | "temporarily_unavailable" | null;
  readonly capacity_full?: boolean;
}

export interface ContractTarget {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** An active key of an account that is unlocked and has at least 300 credits, with nothing in flight. */
  readonly apiKey: string;
  /** Duration of the service's limit windows: 60,000 for a real service, less for a sandbox with a time scale. */
  readonly limitWindowMs: number;
  /** Time between two queries of a task: 5,000 for a real service. */
  readonly pollIntervalMs: number;

  // The following properties need several accounts or a sandbox. Rules that need a missing property are skipped.
  /** Another active key of the same account. */
  readonly secondKey?: string | undefined;
  /** An active key of another account, which is unlocked and has 150 credits. */
  readonly otherAccountKey?: string | undefined;
  readonly revokedKey?: string | undefined;
  /** A key of an account with at least 150 credits, all of them gifts. */
  readonly giftOnlyKey?: string | undefined;
  /** A key of an account whose paid purchase unlocks access, with fewer than 150 credits. */
  readonly poorKey?: string | undefined;
  /** A key of an account whose only purchase was refunded or disputed. */
  readonly refundedKey?: string | undefined;
  /** A key of an account with two purchases: one that was refunded or disputed, and a paid one of 150 credits. */
  readonly partlyRefundedKey?: string | undefined;
  readonly setFaults?: ((faults: FaultControls) => Promise<void>) | undefined;
}
