/**
 * Derives idempotency keys, request fingerprints, request ids and API key ids by hashing, so that every process
 * derives the same values.
 */
import { createHash, createHmac } from "node:crypto";

/**
 * A hash of base URL and API key, which reveals neither. Each API key id has its own rate slots, concurrency slots and
 * cooldown.
 */
export type ApiKeyId = string;

/**
 * The prefix of idempotency keys. It changes only if the canonical form of inputs changes, because every installation
 * must derive the same keys.
 */
const IDEMPOTENCY_KEY_PREFIX = "agm1-";
const API_KEY_HASH_LABEL = "audio-generation-mcp account fingerprint v1";
/**
 * The number of hexadecimal digits of a request id: enough to be unique in a ledger, and short enough for a
 * request handle.
 */
const RECORD_ID_DIGITS = 32;

/**
 * Hashes a list of texts. Prefixes each text with its length, so that different lists are never hashed as the same
 * bytes.
 */
function hashParts(...parts: readonly string[]): string {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(`${Buffer.byteLength(part)}:`).update(part);
  return digest.digest("hex");
}

/**
 * Returns the idempotency key of one attempt (docs/contract.md, Identifiers).
 *
 * @param input canonical input, exactly as sent
 */
export function deriveIdempotencyKey(input: string, take: number, attempt: number): string {
  return IDEMPOTENCY_KEY_PREFIX + hashParts("create", input, String(take), String(attempt));
}

/** Returns the fingerprint of a request: an input and a take at a base URL. It is the same for every API key. */
export function deriveRequestFingerprint(baseUrl: string, input: string, take: number): string {
  return hashParts("request", baseUrl, input, String(take));
}

/** Returns the fingerprint of a task that was not submitted through this ledger and is only downloaded. */
export function deriveExternalTaskFingerprint(baseUrl: string, taskId: string): string {
  return hashParts("external_task", baseUrl, taskId);
}

/** Returns the id that a request has under one API key. */
export function deriveRequestId(requestFingerprint: string, apiKeyId: ApiKeyId): string {
  return hashParts("record", requestFingerprint, apiKeyId).slice(0, RECORD_ID_DIGITS);
}

/** Hashes an API key. The hash is equal on every machine and does not reveal the key. */
export function deriveApiKeyHash(apiKey: string): string {
  return createHmac("sha256", apiKey).update(API_KEY_HASH_LABEL).digest("hex");
}

/** Returns the API key id for a base URL and the hash of an API key. */
export function deriveApiKeyId(baseUrl: string, apiKeyHash: string): ApiKeyId {
  return hashParts("api_key", baseUrl, apiKeyHash);
}
