/** How Keyv spells records: plain JSON, so that either store's records can be read by the other. */
import type { DeserializedData, KeyvOptions } from "keyv";
import { z } from "zod";

/** Text that should have been a stored value and is not JSON: handed on as it is, so that it can be kept. */
export class UnreadableText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const envelopeSchema = z.object({ value: z.unknown() });

/**
 * What {@link RECORD_KEYV_OPTIONS} wrote, not parsed further. An expiry is ignored: the ledger sets none, and Keyv
 * would delete what carries one. Nothing is thrown, for Keyv cannot tell an unreadable value from a lost store.
 */
export function storedValue(text: string): unknown {
  try {
    return envelopeSchema.parse(JSON.parse(text)).value;
  } catch {
    return new UnreadableText(text);
  }
}

function deserialize<Value>(text: string): DeserializedData<Value> {
  // Keyv lets its caller name the type; ours is unknown until it has been parsed as a record.
  return { value: storedValue(text) as Value };
}

/** Never an expiry, never a silent error. */
export const RECORD_KEYV_OPTIONS = {
  namespace: "record",
  throwOnErrors: true,
  emitErrors: false,
  serialize: (data) => JSON.stringify({ value: data.value }),
  deserialize,
} satisfies KeyvOptions;
