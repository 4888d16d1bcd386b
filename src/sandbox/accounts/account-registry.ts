/** Finds the account that a bearer key belongs to (docs/contract.md, Authentication). */
import { ServiceError } from "../sandbox-errors.ts";
import type { ParsedAccounts } from "./accounts-file.ts";
import type { Grant } from "./grants.ts";

/** An account. All of its active keys share its tasks, credits and limits. */
export interface Account {
  readonly id: string;
  readonly grants: readonly Grant[];
}

/** Keeps the accounts of a sandbox, and finds an account by one of its active API keys. */
export class AccountRegistry {
  readonly accounts: readonly Account[];
  /** The active key to show to the person who started the sandbox. */
  readonly firstActiveKey: string;
  readonly #byActiveKey = new Map<string, Account>();

  constructor(file: ParsedAccounts) {
    this.accounts = file.accounts.map(({ id, grants, keys }) => {
      const account = { id, grants: grants.map((terms) => ({ ...terms, reserved: 0, charged: 0 })) };
      for (const { key, active } of keys) if (active) this.#byActiveKey.set(key, account);
      return account;
    });
    this.firstActiveKey = this.#byActiveKey.keys().next().value ?? "";
  }

  /**
   * Returns the account of the bearer key in an `Authorization` header.
   *
   * @throws ServiceError invalid_api_key for a missing, malformed, unknown or revoked key, because the contract gives
   *   all four the same response
   */
  requireAccount(authorization: string | undefined): Account {
    const key = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    const account = key === undefined ? undefined : this.#byActiveKey.get(key);
    if (account !== undefined) return account;
    throw new ServiceError("invalid_api_key", "The API key is missing, invalid or revoked.");
  }
}
