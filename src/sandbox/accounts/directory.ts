/** Finds the account that a bearer key belongs to (docs/contract.md, Authentication). */
import type { GrantTerms, ParsedAccounts } from "./accounts-file.ts";

/** One account: its tasks, credits and limits are shared by all of its active keys. */
export interface Account {
  readonly id: string;
  /** Positions in this list name the grants in the store. */
  readonly grants: readonly GrantTerms[];
}

export class AccountDirectory {
  readonly accounts: readonly Account[];
  /** An active key, fit to be handed to the person who started the sandbox. */
  readonly firstActiveKey: string;
  readonly #byActiveKey = new Map<string, Account>();

  constructor(file: ParsedAccounts) {
    this.accounts = file.accounts.map(({ id, grants }) => ({ id, grants }));
    file.accounts.forEach((entry, index) => {
      const account = this.accounts[index];
      if (account === undefined) return;
      for (const { key, active } of entry.keys) if (active) this.#byActiveKey.set(key, account);
    });
    this.firstActiveKey = this.#byActiveKey.keys().next().value ?? "";
  }

  /**
   * The account behind an `Authorization` header, or `undefined` for a missing, malformed, unknown or revoked
   * key, which the contract does not tell apart.
   */
  accountFor(authorization: string | undefined): Account | undefined {
    const key = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    return key === undefined ? undefined : this.#byActiveKey.get(key);
  }
}
