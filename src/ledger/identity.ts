/** Names of requests, records and accounts: derived by hashing, never random, so that every process finds the same ones. */
import { createHash, createHmac } from "node:crypto";

/** The account whose limits are counted: origin and API key, as a hash that reveals neither. */
export type KeyId = string;

/** Changes only with the canonical form, because every installation must derive the same keys. */
const KEY_PREFIX = "agm1-";
const FINGERPRINT_LABEL = "audio-generation-mcp account fingerprint v1";
/** The length of a SHA-256 prefix: long enough to be unique in a ledger, short enough for a handle. */
const RECORD_ID_DIGITS = 32;

/** Prefixes each part with its length, so that different lists of parts never have the same hash. */
function hash(...parts: readonly string[]): string {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(`${Buffer.byteLength(part)}:`).update(part);
  return digest.digest("hex");
}

/**
 * The idempotency key of one attempt (docs/contract.md, Identifiers).
 *
 * @param input canonical input, exactly as sent
 */
export function idempotencyKey(input: string, take: number, attempt: number): string {
  return KEY_PREFIX + hash("create", input, String(take), String(attempt));
}

/** The work asked for, at one origin, whatever the account. */
export function workId(origin: string, input: string, take: number): string {
  return hash("work", origin, input, String(take));
}

/** The work behind a task that was made elsewhere and is only downloaded from here. */
export function foreignWorkId(origin: string, taskId: string): string {
  return hash("foreign", origin, taskId);
}

/** The record of a work under one account. */
export function recordId(work: string, account: KeyId): string {
  return hash("record", work, account).slice(0, RECORD_ID_DIGITS);
}

/** Names that records are found by. Hashed, because an index holds no text of any length. */
export const workName = (workId: string): string => `work:${hash(workId)}`;
/** The work of the original text, if the input was respelled. */
export const writtenName = (workId: string): string => `written:${hash(workId)}`;
export const taskName = (origin: string, taskId: string): string => `task:${hash(origin, taskId)}`;
/** The task of an earlier, failed attempt. */
export const earlierTaskName = (origin: string, taskId: string): string => `earlier:${hash(origin, taskId)}`;
export const pathName = (path: string): string => `path:${hash(path)}`;

/** Records that share such a name refer to one task of the service. */
export const isTaskName = (name: string): boolean => name.startsWith("task:");

/** Equal on every machine for one API key, and does not reveal the key. */
export function accountFingerprint(apiKey: string): string {
  return createHmac("sha256", apiKey).update(FINGERPRINT_LABEL).digest("hex");
}

/** Limits belong to an origin and an account. */
export function keyId(origin: string, fingerprint: string): KeyId {
  return hash("account", origin, fingerprint);
}
