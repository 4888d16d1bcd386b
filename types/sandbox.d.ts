/**
 * Declares the public types of `audio-generation-mcp/sandbox`. `test/surface/sandbox-types.test.ts` checks that the
 * code has these types.
 */

/** Accounts of a sandbox: `active`, `state` and `grants` may be left out. */
export interface AccountsFile {
  accounts: Array<{
    id: string;
    keys: Array<{ key: string; active?: boolean | undefined }>;
    grants?:
      | Array<{
          kind: "pack" | "subscription" | "gift";
          credits: number;
          state?: "paid" | "refunded" | "disputed" | undefined;
          /** ISO 8601 with a time zone; absent: never expires. */
          expires_at?: string | undefined;
        }>
      | undefined;
  }>;
}

export interface SandboxOptions {
  /** 0 (default): whichever port is free. */
  port?: number;
  /** Default: one account with a paid pack of a million credits and one generated key. */
  accounts?: AccountsFile;
  /** From creation to the end of a task, 0 to 3600; speech may take longer. Default 2. */
  processingSeconds?: number;
  /** 0.001 to 1 (default): multiplies the 60 s limit windows; `Retry-After` still says 60. */
  timeScale?: number;
  /** False lifts the limits per account (not the site's capacity). Default true. */
  enforceLimits?: boolean;
  /** Told of internal errors, which clients see as 503 or a failed task. Default: one line on stderr. */
  onInternalError?: (error: unknown) => void;
}

/** Credits of an account, all grants together. */
export interface AccountBalance {
  readonly accountId: string;
  readonly granted: number;
  readonly available: number;
  readonly reserved: number;
  readonly charged: number;
}

export interface RunningSandbox {
  /** `http://127.0.0.1:<port>`, no slash at the end. */
  readonly baseUrl: string;
  /** The first active key of the accounts. */
  readonly apiKey: string;
  /** Every account's credits at this moment; no part of the service's contract, for tests that count them. */
  balances(): AccountBalance[];
  /** Closes every connection. Tasks, balances and audio lie in memory and go with it. */
  stop(): Promise<void>;
}

/** A wrong option: a taken port, bad accounts or numbers. */
export class SandboxUsageError extends Error {}

/**
 * Starts a complete stand-in for the service on a loopback port.
 *
 * @throws SandboxUsageError
 */
export function startSandbox(options?: SandboxOptions): Promise<RunningSandbox>;
