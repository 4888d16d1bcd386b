/** Tells whether two create requests are the same input (docs/contract.md, Idempotency). */
import { createHash } from "node:crypto";
import { type AudioInput, normalizeAudioInput } from "../../contract/audio-input.ts";

/** An input with its defaults spelled out, as JSON that is kept with the task, and the digest that replays are compared by. */
export interface FingerprintedInput {
  readonly json: string;
  readonly sha256: string;
}

/**
 * Defaults given and defaults left out become one input, as do the orders of fields; the order of references
 * means something (`@Audio1`, `@Audio2`) and stays. `-0` and `1.0` are JSON spellings of 0 and 1.
 */
export function fingerprint(body: AudioInput): FingerprintedInput {
  // The normaliser builds its fields in one fixed order, so that this text is canonical.
  const json = JSON.stringify(normalizeAudioInput(body));
  return { json, sha256: createHash("sha256").update(json).digest("hex") };
}
