/** Owns the use case behind `list_tasks`: the ledger, newest first; asks the service nothing. */
import { lstat } from "node:fs/promises";
import { firstCodePoints } from "../contract/unicode.ts";
import type { IndexQuery } from "../ledger/coordinator.ts";
import type { RecordStatus, SavedFile, TaskRecord } from "../ledger/record.ts";
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
  /** Sound audio that is there; whether it is unchanged is checked when it is asked for. */
  readonly audioPath: string | null;
  /** Bytes that were delivered and are no audio of the format. */
  readonly unsoundPath: string | null;
  /** Asked for under another API key: what repeating does depends on whose account that is. */
  readonly isOtherKey: boolean;
  readonly isGone: boolean;
}

function credits(record: TaskRecord): number | null {
  if (record.status === "failed") return record.billing?.charged_credits ?? 0;
  if (record.billing === null) return null;
  return record.billing.charged_credits ?? record.billing.reserved_credits;
}

async function newestThatIsThere(files: readonly SavedFile[]): Promise<string | null> {
  for (const { path } of [...files].reverse()) {
    const stats = await lstat(path).catch(() => null);
    if (stats?.isFile() === true) return path;
  }
  return null;
}

async function listed(record: TaskRecord, place: string, fingerprint: string): Promise<ListedTask> {
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
    audioPath: await newestThatIsThere(here.filter(({ isSound }) => isSound)),
    unsoundPath: await newestThatIsThere(here.filter(({ isSound }) => !isSound)),
    isOtherKey: record.fingerprint !== fingerprint,
    isGone: record.isGone,
  };
}

/** What the ledger holds for this service, newest first. `unresolved`: sent, answer never seen. */
export async function listTasks(
  deps: Pick<GenerationDeps, "store" | "origin" | "folder" | "fingerprint">,
  query: { status: RecordStatus | null; limit: number },
): Promise<ListedTask[]> {
  const indexQuery: IndexQuery = {
    origin: deps.origin,
    limit: query.limit,
    ...(query.status === null ? {} : { statuses: [query.status] }),
  };
  const entries = await deps.store.coordinator.listIndex(indexQuery);
  const records = await deps.store.records.getMany(entries.map(({ recordId }) => recordId));
  const wanted = records
    .filter((record) => record !== undefined)
    .filter((record) => query.status === null || record.status === query.status);
  return await Promise.all(wanted.map((record) => listed(record, deps.folder.place, deps.fingerprint)));
}
