/** Names everything that the ledger keeps in Redis. */
import { createHash } from "node:crypto";
import type { AccountId } from "../identity.ts";

const PREFIX = "audio-generation-mcp:2:";

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The layout's version. */
export const VERSION_KEY = "audio-generation-mcp:{ledger}:version";

/** The braces are a cluster's hash tag: all of one account is in one slot, and one script may touch it. */
export const accountPrefix = (accountId: AccountId): string => `${PREFIX}{${accountId}}:`;

/** The keys of one account that are there once. */
export interface AccountKeys {
  readonly prefix: string;
  /** Hash: record id to JSON of state, time and holder. */
  readonly flight: string;
  /** Hash: quarter of an hour, counted from 1970, to credits. */
  readonly spend: string;
  /** Hash: several quarters together, counted from 1970, to credits. */
  readonly parts: string;
  /** Sorted sets: record id by creation. */
  readonly open: string;
  /** Records without an end: waiting, unresolved, queued, processing. */
  readonly unsettled: string;
  readonly newest: string;
  /** Narrations' ids by creation. */
  readonly narrations: string;
  /** Hashes: slot id to JSON of holder, time and whether its request is still under way. */
  readonly creates: string;
  readonly reads: string;
  /** Sorted set: holder by its last sign of life. */
  readonly alive: string;
  /** Hash: limit class to JSON of begin and length. */
  readonly pauses: string;
  readonly check: string;
}

export function accountKeys(accountId: AccountId): AccountKeys {
  const prefix = accountPrefix(accountId);
  return {
    prefix,
    flight: `${prefix}flight`,
    spend: `${prefix}spend`,
    parts: `${prefix}spend-parts`,
    open: `${prefix}open`,
    unsettled: `${prefix}unsettled`,
    newest: `${prefix}newest`,
    narrations: `${prefix}narrations`,
    creates: `${prefix}creates`,
    reads: `${prefix}reads`,
    alive: `${prefix}alive`,
    pauses: `${prefix}pauses`,
    check: `${prefix}check`,
  };
}

/** Hash: a record's value, what follows from it, and its lease. */
export const recordHashKey = (accountId: AccountId, recordId: string): string =>
  `${accountPrefix(accountId)}record:${recordId}`;

/** Hash: a narration's state and its lease. */
export const narrationKey = (accountId: AccountId, narrationId: string): string =>
  `${accountPrefix(accountId)}narration:${narrationId}`;

export const narrationPlanKey = (accountId: AccountId, narrationId: string): string =>
  `${accountPrefix(accountId)}narration-plan:${narrationId}`;

/** What a record can be found by, as names behind the account's prefix: hashes, whose fields are record ids. */
export const workRef = (workId: string): string => `work:${workId}`;
export const taskRef = (taskId: string): string => `task:${taskId}`;
export const pathRef = (path: string): string => `path:${digest(path)}`;

/** Sorted set: the accounts that a machine has used at an origin, by their last use. */
export const machineKey = (machineId: string, origin: string): string =>
  `${PREFIX}{machine ${digest(JSON.stringify([machineId, origin])).slice(0, 32)}}:accounts`;

/** What is no record: damaged values that were set aside. Each is a string in a slot of its own. */
export const PLAIN_PREFIX = `${PREFIX}kv:`;
