/** The use case behind `list_tasks`: the ledger, newest first; asks the service nothing. */
import { basename } from "node:path";
import { holdsWords } from "../../contract/search-words.ts";
import { firstCodePoints } from "../../contract/unicode.ts";
import type { AudioError } from "../../errors.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import { workId, workName } from "../../ledger/identity.ts";
import type { RecordStatus, TaskRecord } from "../../ledger/record.ts";
import { fromStoredError } from "../../ledger/stored-error.ts";
import type { GenerationDeps } from "../deps.ts";
import { handleOf } from "../handle.ts";
import { storedInput } from "../saved-files.ts";
import { newestExisting, ownFilesAmong } from "./own-files.ts";

const EXCERPT_CODE_POINTS = 80;

/** Of a hash; enough to tell the requests of one ledger apart. */
const REQUEST_DIGITS = 16;

/** Words are looked for in so many of the newest requests. */
const MAX_SEARCHED = 2000;

export interface ListRequest {
  readonly status: RecordStatus | null;
  /** Words that the text or a file's name must hold; `null`: all. */
  readonly query: string | null;
  readonly limit: number;
}

export interface ListedTask {
  readonly taskId: string | null;
  /** Names the record where there is no task id. */
  readonly handle: string;
  readonly status: RecordStatus;
  readonly promptExcerpt: string | null;
  /** A preset's id, or in words what stands in for one. */
  readonly voice: string | null;
  readonly take: number | null;
  /** Equal for all records of one task, also in the bills of narrations. */
  readonly workName: string;
  /** Equal for all takes of one request, and for nothing else; `null`: the request is not known. */
  readonly request: string | null;
  readonly audioSeconds: number | null;
  readonly createdAtMs: number;
  /** Charged, or reserved while the task runs; `null` while nothing is known to have been reserved. */
  readonly credits: number | null;
  /** Sound audio that is there; whether it is unchanged is checked when it is asked for. */
  readonly audioPath: string | null;
  /** Where the audio was saved, when it is not there any more. */
  readonly missingPath: string | null;
  /** Bytes that were delivered and are no audio of the format. */
  readonly unsoundPath: string | null;
  /** Asked for under another API key alone: what repeating does depends on whose account that is. */
  readonly isOtherKey: boolean;
  /** Why a request that was never accepted is not sent by itself. */
  readonly refusal: AudioError | null;
  readonly isGone: boolean;
  readonly isTooLarge: boolean;
}

function credits(record: TaskRecord): number | null {
  if (record.billing === null) return null;
  if (record.status === "failed") return record.billing.charged_credits ?? 0;
  return record.billing.charged_credits ?? record.billing.reserved_credits;
}

async function listed(
  record: TaskRecord,
  own: readonly SavedFile[],
  root: string,
  accountId: string,
): Promise<ListedTask> {
  const input = storedInput(record);
  const excerpt = input === null ? null : firstCodePoints(input.prompt, EXCERPT_CODE_POINTS);
  const isSoundFile = ({ isSound }: SavedFile): boolean => isSound;
  const audioPath = await newestExisting(own.filter(isSoundFile), root);
  return {
    taskId: record.taskId,
    handle: handleOf(record),
    status: record.status,
    promptExcerpt: excerpt === null || excerpt === input?.prompt ? excerpt : `${excerpt}…`,
    voice: input?.voice ?? null,
    take: record.take,
    workName: workName(record.workId),
    request: record.input === null ? null : workId(record.origin, record.input, 1).slice(0, REQUEST_DIGITS),
    audioSeconds: record.audioSeconds,
    createdAtMs: record.createdAtMs,
    credits: credits(record),
    audioPath,
    missingPath: audioPath === null ? (record.files.findLast(isSoundFile)?.path ?? null) : null,
    unsoundPath: await newestExisting(
      own.filter((file) => !isSoundFile(file)),
      root,
    ),
    isOtherKey: record.accountId !== accountId,
    refusal: record.refusal === null ? null : fromStoredError(record.refusal.error),
    isGone: record.isGone,
    isTooLarge: record.isTooLarge,
  };
}

/** What the ledger holds for this service, newest first. `unresolved`: sent, answer never seen. */
export async function listTasks(
  { ledger, folder }: Pick<GenerationDeps, "ledger" | "folder">,
  { status, query, limit }: ListRequest,
): Promise<ListedTask[]> {
  const most = query === null ? limit : MAX_SEARCHED;
  const all = await ledger.list({ accounts: "all", status: status ?? undefined, limit: most });
  const records = (query === null ? all : all.filter((record) => holdsWords(searched(record), query))).slice(
    0,
    limit,
  );
  const own = ownFilesAmong(all);
  return await Promise.all(
    records.map((record) => listed(record, own(record), folder.root, ledger.identity.accountId)),
  );
}

/** Where words are looked for: the text, the name that was wished for, the names of the files. */
const searched = (record: TaskRecord): string[] => [
  storedInput(record)?.prompt ?? "",
  record.fileName ?? "",
  ...record.files.map(({ path }) => basename(path)),
];
