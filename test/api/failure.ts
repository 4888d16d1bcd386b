/** Catches an expected failure in a test. */
import { AudioError } from "../../src/errors.ts";

/** Returns the AudioError with which a promise rejects; rethrows anything else. */
export async function failureOf(promise: Promise<unknown>): Promise<AudioError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof AudioError) return error;
    throw error;
  }
  throw new Error("expected a failure, but it succeeded");
}
