/** Parses stored values as records. Logs each unreadable value, and sets it aside or skips it. */
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import type { Log } from "../log.ts";
import { type RequestRecord, requestRecordSchema } from "./record.ts";
import type { LedgerStore } from "./store/ledger-store.ts";
import type { RecordJsonRow } from "./store/record-rows.ts";

/**
 * Parses the JSON of stored records, and handles damaged records. A record is damaged if its JSON is invalid or
 * contains another record id than its row.
 */
export class RecordReader {
  readonly #store: Pick<LedgerStore, "documents" | "discard">;
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #log: Log;

  constructor(store: Pick<LedgerStore, "documents" | "discard">, clock: Pick<Clock, "wallMs">, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Parses the JSON of a record.
   *
   * @throws AudioError `store_unavailable` for a damaged record, which is set aside
   */
  async parseOrQuarantine(stored: RecordJsonRow): Promise<RequestRecord> {
    const record = parseRecord(stored.recordJson);
    if (record?.recordId === stored.recordId) return record;
    await this.quarantine(stored, record === undefined ? "it is not a record" : "it names another record");
    throw new AudioError(
      "store_unavailable",
      `The ledger's record ${stored.recordId} is damaged and was set aside; nothing was sent.`,
      {
        retryable: true,
        remedy:
          "Repeat the same call: it asks the service again under the same idempotency key, so nothing is charged twice.",
      },
    );
  }

  /** Parses the JSON of a record. If it is unreadable, leaves it in place, logs a line and returns `null`. */
  parseOrSkip({ recordId, recordJson }: RecordJsonRow): RequestRecord | null {
    const record = parseRecord(recordJson);
    if (record?.recordId === recordId) return record;
    this.#log.warn(`the ledger's record ${recordId} is damaged and was passed over`);
    return null;
  }

  /**
   * Copies the damaged JSON to the table of documents, then removes the record. The budget still counts the record's
   * spend.
   */
  async quarantine(stored: RecordJsonRow, why: string): Promise<void> {
    const { recordId, recordJson } = stored;
    const copyKey = `set-aside:${recordId}:${this.#clock.wallMs()}`;
    await this.#store.documents.set(copyKey, recordJson);
    await this.#store.discard(stored);
    this.#log.error(`the ledger's record ${recordId} is damaged and was set aside as ${copyKey}: ${why}`);
  }
}

function parseRecord(text: string): RequestRecord | undefined {
  try {
    return requestRecordSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
