/** Owns the use case behind `list_tasks`: the ledger, newest first; asks the service nothing. */
import { firstCodePoints } from "../contract/unicode.ts";
import type { IndexQuery } from "../ledger/coordinator.ts";
import type { RecordStatus, TaskRecord } from "../ledger/record.ts";
import type { GenerationDeps } from "./deps.ts";
import { parsedInput } from "./saved-files.ts";

const EXCERPT_CODE_POINTS = 80;

export interface ListedTask {
  readonly taskId: string | null;
  readonly status: RecordStatus;
  readonly promptExcerpt: string | null;
  readonly voice: string | null;
  readonly createdAtMs: number;
  /** Charged, or reserved while the task runs; `null` while nothing is known to have been reserved. */
  readonly credits: number | null;
  readonly audioPath: string | null;
  readonly isGone: boolean;
}

function credits(record: TaskRecord): number | null {
  if (record.status === "failed") return record.billing?.charged_credits ?? 0;
  if (record.billing === null) return null;
  return record.billing.charged_credits ?? record.billing.reserved_credits;
}

function listed(record: TaskRecord, place: string): ListedTask {
  const input = parsedInput(record);
  const here = record.files.filter((file) => file.place === place);
  const excerpt = input === null ? null : firstCodePoints(input.prompt, EXCERPT_CODE_POINTS);
  return {
    taskId: record.taskId,
    status: record.status,
    promptExcerpt: excerpt === null || excerpt === input?.prompt ? excerpt : `${excerpt}…`,
    voice: input?.voice ?? null,
    createdAtMs: record.createdAtMs,
    credits: credits(record),
    audioPath: here.at(-1)?.path ?? null,
    isGone: record.isGone,
  };
}

/** What the ledger holds for this service, newest first. `unresolved`: sent, answer never seen. */
export async function listTasks(
  deps: Pick<GenerationDeps, "store" | "origin" | "folder">,
  query: { status: RecordStatus | null; limit: number },
): Promise<ListedTask[]> {
  const indexQuery: IndexQuery = {
    origin: deps.origin,
    limit: query.limit,
    ...(query.status === null ? {} : { statuses: [query.status] }),
  };
  const entries = await deps.store.coordinator.listIndex(indexQuery);
  const records = await deps.store.records.getMany(entries.map(({ recordId }) => recordId));
  return records
    .filter((record) => record !== undefined)
    .filter((record) => query.status === null || record.status === query.status)
    .map((record) => listed(record, deps.folder.place));
}
