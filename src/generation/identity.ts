/** Owns how requests, records and accounts are named: derived by hashing, never random (design 6.2); stores nothing. */
import { createHash, createHmac } from "node:crypto";
import type { AccountId } from "../ledger/coordinator.ts";

/** Changes only when the canonical spelling changes: every installation must derive the same keys. */
const KEY_PREFIX = "agm1-";
const FINGERPRINT_LABEL = "audio-generation-mcp account fingerprint v1";

/** Parts are length-prefixed, so that no two lists of parts ever hash alike. */
function hash(...parts: readonly string[]): string {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(`${Buffer.byteLength(part)}:`).update(part);
  return digest.digest("hex");
}

/**
 * The idempotency key of one attempt (contract 4.1: 1 to 128 characters of `[A-Za-z0-9._:-]`).
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

/** The record of a work under one account. */
export function recordId(work: string, fingerprint: string): string {
  return hash("record", work, fingerprint);
}

/** The record of a task that was made elsewhere and is only downloaded from here. */
export function foreignRecordId(origin: string, taskId: string): string {
  return hash("foreign", origin, taskId);
}

/** Equal on every machine for one API key, and of no use to find that key. */
export function accountFingerprint(apiKey: string): string {
  return createHmac("sha256", apiKey).update(FINGERPRINT_LABEL).digest("hex");
}

/** Limits belong to an origin and an account. */
export function accountId(origin: string, fingerprint: string): AccountId {
  return hash("account", origin, fingerprint);
}
