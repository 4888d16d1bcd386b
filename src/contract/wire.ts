/** Defines the service's path, header and forms of identifiers (docs/contract.md, Endpoints and Identifiers). */

export const GENERATIONS_PATH = "/api/v1/audio/generations";
export const IDEMPOTENCY_KEY_HEADER = "idempotency-key";
export const IDEMPOTENCY_KEY_PATTERN = /^[A-Za-z0-9._:-]{1,128}$/;

/** Matches ids that may be put into a path: no separators, no percent signs, at most 256 characters. */
export const TASK_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,255}$/;

/** Returns whether an id is safe as a path segment. An id cannot begin with a dot, so it is never `.` or `..`. */
export function isTaskId(id: string): boolean {
  return TASK_ID_PATTERN.test(id);
}
