/** Owns when two create requests are the same input (contract 4.1); knows nothing of keys, accounts or storage. */
import { createHash } from "node:crypto";
import { type AudioInput, type NormalizedAudioInput, normalizeAudioInput } from "../contract/audio-input.ts";

/** An input with its defaults spelled out, as kept with a task, and the digest that replays are compared by. */
export interface FingerprintedInput {
  readonly input: NormalizedAudioInput;
  readonly json: string;
  readonly sha256: string;
}

/**
 * Defaults given and defaults left out become one input, as do the orders of fields; the order of references
 * means something (`@Audio1`, `@Audio2`) and stays. `-0` and `1.0` are JSON spellings of 0 and 1.
 */
export function fingerprint(body: AudioInput): FingerprintedInput {
  const input = normalizeAudioInput(body);
  // The normaliser builds its fields in one fixed order, so that this text is canonical.
  const json = JSON.stringify(input);
  return { input, json, sha256: createHash("sha256").update(json).digest("hex") };
}
