/** The use case of `list_tasks`: lists the ledger, newest first. Does not ask the service. */
import { basename } from "node:path";
import { takeFirstCodePoints } from "../../contract/unicode.ts";
import type { AudioError } from "../../errors.ts";
import { findNewestExisting } from "../../files/newest-existing.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import { deriveRequestFingerprint, toRequestLookupKey } from "../../ledger/identity.ts";
import type { RecordStatus, RequestRecord } from "../../ledger/record.ts";
import { fromStoredError } from "../../ledger/stored-error.ts";
import { containsWords } from "../../search-words.ts";
import type { RequestDeps } from "../deps.ts";
import { createFileOwnerFilter } from "../records/file-owner-filter.ts";
import { toRequestHandle } from "../records/request-handle.ts";
import { parseStoredInput } from "../records/stored-input.ts";

const EXCERPT_CODE_POINTS = 80;

/** Number of digits of `inputHash`. They are enough to distinguish the requests of one ledger. */
const INPUT_HASH_DIGITS = 16;

/** How many of the newest requests are searched for words, at most. */
const MAX_SEARCHED_REQUESTS = 2000;

export interface RequestListQuery {
  readonly status: RecordStatus | null;
  /** Words that the text or a file name must contain; `null` for all requests. */
  readonly query: string | null;
  readonly limit: number;
}

export interface ListedRequest {
  readonly taskId: string | null;
  /** The request handle, which names the record even if the record has no task id. */
  readonly handle: string;
  readonly status: RecordStatus;
  readonly promptExcerpt: string | null;
  /** Id of a preset voice, or a description of the voice source. */
  readonly voice: string | null;
  readonly take: number | null;
  /** Equal for all records of one request. Bills of narrations identify a request by this lookup key. */
  readonly requestLookupKey: string;
  /** Equal for all takes of one input and for nothing else; `null` if the input is unknown. */
  readonly inputHash: string | null;
  readonly audioSeconds: number | null;
  readonly createdAtMs: number;
  /** Charged credits, or reserved credits while the task runs; `null` if the service stated no readable billing. */
  readonly credits: number | null;
  /**
   * Path of saved audio that still exists and has the right format. The content is verified only when a caller reads
   * the file.
   */
  readonly audioPath: string | null;
  /** Path of saved audio that no longer exists. */
  readonly missingPath: string | null;
  /** Path of delivered bytes that do not match the format. */
  readonly wrongFormatPath: string | null;
  /**
   * Whether the request belongs to another API key. If that key belongs to another account, repeating the request
   * creates another task.
   */
  readonly isOtherKey: boolean;
  /** The reason why a request was refused and is not sent again automatically. */
  readonly refusal: AudioError | null;
  readonly isGone: boolean;
  readonly isTooLarge: boolean;
}

function deriveShownCredits(record: RequestRecord): number | null {
  if (record.billing === null) return null;
  if (record.status === "failed") return record.billing.charged_credits ?? 0;
  return record.billing.charged_credits ?? record.billing.reserved_credits;
}

async function toListedRequest(
  record: RequestRecord,
  own: readonly SavedFile[],
  root: string,
  apiKeyId: string,
): Promise<ListedRequest> {
  const input = parseStoredInput(record);
  const excerpt = input === null ? null : takeFirstCodePoints(input.prompt, EXCERPT_CODE_POINTS);
  const isInItsFormat = ({ matchesFormat }: SavedFile): boolean => matchesFormat;
  const audioPath = await findNewestExisting(own.filter(isInItsFormat), root);
  return {
    taskId: record.taskId,
    handle: toRequestHandle(record),
    status: record.status,
    promptExcerpt: excerpt === null || excerpt === input?.prompt ? excerpt : `${excerpt}…`,
    voice: input?.voice ?? null,
    take: record.take,
    requestLookupKey: toRequestLookupKey(record.requestFingerprint),
    inputHash:
      record.input === null
        ? null
        : deriveRequestFingerprint(record.baseUrl, record.input, 1).slice(0, INPUT_HASH_DIGITS),
    audioSeconds: record.audioSeconds,
    createdAtMs: record.createdAtMs,
    credits: deriveShownCredits(record),
    audioPath,
    missingPath: audioPath === null ? (record.files.findLast(isInItsFormat)?.path ?? null) : null,
    wrongFormatPath: await findNewestExisting(
      own.filter((file) => !isInItsFormat(file)),
      root,
    ),
    isOtherKey: record.apiKeyId !== apiKeyId,
    refusal: record.refusal === null ? null : fromStoredError(record.refusal.error),
    isGone: record.isGone,
    isTooLarge: record.isTooLarge,
  };
}

/**
 * Lists the ledger's tasks at this service, newest first. The status `unresolved` means that the submission was sent
 * and no response was received.
 */
export async function listRecordedRequests(
  { ledger, folder }: Pick<RequestDeps, "ledger" | "folder">,
  { status, query, limit }: RequestListQuery,
): Promise<ListedRequest[]> {
  const max = query === null ? limit : MAX_SEARCHED_REQUESTS;
  const listedRecords = await ledger.list({ apiKeys: "all", status: status ?? undefined, limit: max });
  const records = (
    query === null
      ? listedRecords
      : listedRecords.filter((record) => containsWords(listSearchedTextsOfRequest(record), query))
  ).slice(0, limit);
  const ownedFiles = createFileOwnerFilter(listedRecords);
  return await Promise.all(
    records.map((record) =>
      toListedRequest(record, ownedFiles(record), folder.root, ledger.identity.apiKeyId),
    ),
  );
}

/** The searched texts: prompt, requested file name, names of saved files. */
const listSearchedTextsOfRequest = (record: RequestRecord): string[] => [
  parseStoredInput(record)?.prompt ?? "",
  record.fileName ?? "",
  ...record.files.map(({ path }) => basename(path)),
];
