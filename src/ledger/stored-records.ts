/** Reads what a store holds as records; what cannot be read is set aside and said, and never taken for "no record". */
import { z } from "zod";
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import type { Log } from "../log.ts";
import { storedValue, UnreadableText } from "./keyv-options.ts";
import { type LedgerStore, recordKey, type StoredValue } from "./ledger-store.ts";
import { type TaskRecord, taskRecordSchema } from "./record.ts";

type Name = Pick<StoredValue, "accountId" | "recordId">;

export class StoredRecords {
  readonly #store: LedgerStore;
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #log: Log;

  constructor(store: LedgerStore, clock: Pick<Clock, "wallMs">, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** @throws AudioError `store_unavailable` for a damaged record, which is set aside */
  async read(name: Name, value: unknown): Promise<TaskRecord | null> {
    if (value === undefined || value === null) return null;
    const parsed = taskRecordSchema.safeParse(value);
    if (parsed.data?.recordId === name.recordId) return parsed.data;
    await this.#setAside(
      name,
      value,
      parsed.success ? "it names another record" : z.prettifyError(parsed.error),
    );
    throw new AudioError(
      "store_unavailable",
      `The ledger's record ${name.recordId} is damaged and was set aside; nothing was sent.`,
      {
        retryable: true,
        remedy:
          "Repeat the same call: it asks the service again under the same idempotency key, so nothing is charged twice.",
      },
    );
  }

  async readText(stored: StoredValue): Promise<TaskRecord | null> {
    return await this.read(stored, storedValue(stored.value));
  }

  /** `null`, and a line in the log, for what cannot be read. */
  async readLeniently(stored: StoredValue): Promise<TaskRecord | null> {
    try {
      return await this.readText(stored);
    } catch (error) {
      this.#log.warn("a record of the ledger was passed over", error);
      return null;
    }
  }

  /** A stored value whose columns say something else: neither can be believed, and what is known takes its place. */
  async setAside(name: Name, record: TaskRecord): Promise<void> {
    await this.#setAside(name, record, "its columns say something else");
  }

  async #setAside({ accountId, recordId }: Name, value: unknown, why: string): Promise<void> {
    const asideKey = `set-aside:${recordId}:${this.#clock.wallMs()}`;
    const content = value instanceof UnreadableText ? value.text : JSON.stringify(value);
    await this.#store.keyv.set(asideKey, content);
    await this.#store.keyv.delete(recordKey(accountId, recordId));
    this.#log.error(`the ledger's record ${recordId} is damaged and was set aside as ${asideKey}: ${why}`);
  }
}
