/** Owns the ledger's outer shape: records and coordination behind one handle; knows neither SQLite nor Redis. */
import type { Coordinator } from "./coordinator.ts";
import type { TaskRecord } from "./record.ts";

/** Records by id. A damaged record, or one of a newer version, is an error and never "no record". */
export interface Records {
  get(recordId: string): Promise<TaskRecord | undefined>;
  getMany(recordIds: readonly string[]): Promise<Array<TaskRecord | undefined>>;
  /** Durable when it resolves. */
  set(record: TaskRecord): Promise<void>;
  delete(recordId: string): Promise<void>;
}

export interface Store {
  readonly records: Records;
  readonly coordinator: Coordinator;
  /** Where it is, for a person; never with credentials. */
  readonly description: string;
  /** Whether it can be written right now; throws `store_unavailable` with the reason. */
  check(): Promise<void>;
  close(): Promise<void>;
}
