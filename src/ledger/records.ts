/** Owns reading and writing records through Keyv, and what becomes of one that cannot be read; knows no database. */
import type Keyv from "keyv";
import type { DeserializedData, KeyvOptions } from "keyv";
import { z } from "zod";
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import type { Log } from "../log.ts";
import { RECORD_VERSION, type TaskRecord, taskRecordSchema } from "./record.ts";
import type { Records } from "./store.ts";

/** Text that should have been a stored value and is not JSON: handed on as it is, so that it can be kept. */
class UnreadableText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const envelopeSchema = z.object({ value: z.unknown() });
const versionSchema = z.object({ version: z.number() });

/**
 * Reads what {@link RECORD_KEYV_OPTIONS} wrote. An expiry is ignored: the ledger sets none, and Keyv would delete
 * what carries one. Nothing is thrown here, for Keyv cannot tell an unreadable value from a lost store.
 */
function deserialize<Value>(text: string): DeserializedData<Value> {
  let value: unknown;
  try {
    value = envelopeSchema.parse(JSON.parse(text)).value;
  } catch {
    value = new UnreadableText(text);
  }
  // Keyv lets its caller name the type; ours is unknown until createRecords has parsed it.
  return { value: value as Value };
}

/** Plain JSON, so that either store's records can be read by the other; never an expiry, never a silent error. */
export const RECORD_KEYV_OPTIONS = {
  namespace: "record",
  throwOnErrors: true,
  emitErrors: false,
  serialize: (data) => JSON.stringify({ value: data.value }),
  deserialize,
} satisfies KeyvOptions;

/** Records over a Keyv that was made with {@link RECORD_KEYV_OPTIONS}. */
export function createRecords(keyv: Keyv<unknown>, log: Log, clock: Clock): Records {
  /** Parses, or sets aside and throws. */
  const read = async (recordId: string, value: unknown): Promise<TaskRecord | undefined> => {
    if (value === undefined || value === null) return undefined;
    const parsed = taskRecordSchema.safeParse(value);
    if (parsed.success && parsed.data.recordId === recordId) return parsed.data;
    const version = versionSchema.safeParse(value);
    if (version.success && version.data.version > RECORD_VERSION) {
      throw new AudioError(
        "store_unavailable",
        `The ledger's record ${recordId} was written by a newer version of this program (record version ${version.data.version}; this one knows ${RECORD_VERSION}).`,
        {
          remedy:
            "Update audio-generation-mcp on this machine, then call again. The record was left as it is.",
        },
      );
    }
    const asideKey = `set-aside:${recordId}:${clock.wallMs()}`;
    const content = value instanceof UnreadableText ? value.text : JSON.stringify(value);
    await keyv.set(asideKey, content);
    await keyv.delete(recordId);
    const why = parsed.success ? "it names another record" : z.prettifyError(parsed.error);
    log.error(`the ledger's record ${recordId} is damaged and was set aside as ${asideKey}: ${why}`);
    throw new AudioError(
      "store_unavailable",
      `The ledger's record ${recordId} is damaged and was set aside; nothing was sent.`,
      {
        retryable: true,
        remedy:
          "Repeat the same call: it asks the service again under the same idempotency key, so nothing is charged twice.",
      },
    );
  };

  return {
    async get(recordId) {
      return read(recordId, await keyv.get(recordId));
    },
    async getMany(recordIds) {
      if (recordIds.length === 0) return [];
      const values = await keyv.getMany([...recordIds]);
      const records: Array<TaskRecord | undefined> = [];
      let failure: { error: unknown } | undefined;
      for (const [at, recordId] of recordIds.entries()) {
        try {
          records.push(await read(recordId, values[at]));
        } catch (error) {
          // All damaged ones are set aside in this one call, so that the next is not stopped by another.
          failure ??= { error };
        }
      }
      if (failure !== undefined) throw failure.error;
      return records;
    },
    async set(record) {
      await keyv.set(record.recordId, taskRecordSchema.parse(record));
    },
    async delete(recordId) {
      await keyv.delete(recordId);
    },
  };
}
