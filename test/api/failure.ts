/** Owns the catching of an expected failure in a test. */
import { AudioError } from "../../src/errors.ts";

/** The AudioError that a promise rejects with; anything else is thrown on. */
export async function failureOf(promise: Promise<unknown>): Promise<AudioError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof AudioError) return error;
    throw error;
  }
  throw new Error("expected a failure, but it succeeded");
}
