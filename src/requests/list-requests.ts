/** Lists the requests of the ledger for `list_tasks`, for resources and for completions. Asks the service nothing. */
import { basename } from "node:path";
import { MIME_TYPES } from "../contract/audio-format.ts";
import { shortenText, takeFirstCodePoints } from "../contract/unicode.ts";
import { BUDGET_WINDOW_MS } from "../ledger/bills.ts";
import { listFiles } from "../ledger/file-rows.ts";
import { deriveRequestFingerprint } from "../ledger/identity.ts";
import { listRequests as listRequestRows } from "../ledger/request-rows.ts";
import { type AttemptStatus, type FileRow, OPEN_STATUSES, type RequestRow } from "../ledger/schema.ts";
import type { Search } from "../search-words.ts";
import { findActivity } from "./attend.ts";
import type { RequestDeps } from "./deps.ts";
import type { RequestDriver } from "./driver.ts";
import { buildRequestView, type ListedStatus, type RequestView } from "./request-view.ts";
import { findReplacer, keepPresent } from "./saved-audio.ts";
import { parseStoredFormat, parseStoredInput } from "./stored-input.ts";

export interface RequestListQuery {
  readonly status: ListedStatus | null;
  /** Judges the text and the file names; `null` for all requests. */
  readonly search: Search | null;
  readonly limit: number;
}

/** A request with what only a list says of it. Its `audio` exists; the content is verified only when it is read. */
export interface ListedRequest extends RequestView {
  readonly promptExcerpt: string | null;
  /** Equal for all API keys under which the same text was asked for. */
  readonly fingerprint: string;
  /** Equal for all takes of one input and for nothing else; `null` if the input is unknown. */
  readonly inputHash: string | null;
  readonly createdAtMs: number;
  /** Credits that the service holds, or may hold, until the task ends; 0 after a day, because no task runs longer. */
  readonly heldCredits: number;
  /** A saved file that no longer exists, and that no other one has replaced. */
  readonly missingPath: string | null;
  /** The task or narration whose file took the place of the saved file; `null` if none did. */
  readonly replacedBy: string | null;
  /** Delivered bytes that are not of the format. */
  readonly wrongFormatPath: string | null;
  /** Whether it was asked for under another API key. If that is of another account, a repeat makes another task. */
  readonly isOtherKey: boolean;
}

const EXCERPT_CODE_POINTS = 80;
const INPUT_HASH_DIGITS = 16;
/** How many of the newest requests are searched for words. */
const MAX_SEARCHED_REQUESTS = 2000;

type ListDeps = Pick<RequestDeps, "ledger" | "folder">;

/** What a row does not say itself. */
interface RowFacts {
  /** The files of the request, the newest first. */
  readonly files: readonly FileRow[];
  readonly present: ReadonlySet<FileRow>;
  readonly activity: string | null;
}

async function toListedRequest(
  deps: ListDeps,
  row: RequestRow,
  { files, present, activity }: RowFacts,
): Promise<ListedRequest> {
  const { ledger } = deps;
  const input = parseStoredInput(row);
  const isRecent = row.spent_at_ms > ledger.clock.wallMs() - BUDGET_WINDOW_MS;
  const isHeld = isRecent && OPEN_STATUSES.some((status) => status === row.status);
  const ofFormat = files.filter(({ kind }) => kind === "audio");
  const file = ofFormat.find((each) => present.has(each)) ?? null;
  const [missing] = file === null ? ofFormat : [];
  const replacedBy = missing === undefined ? null : await findReplacer(deps, missing);
  return {
    ...buildRequestView(row, { file, replayed: true, activity }),
    promptExcerpt: input && shortenText(input.prompt, EXCERPT_CODE_POINTS),
    fingerprint: row.fingerprint,
    inputHash:
      row.body === null
        ? null
        : deriveRequestFingerprint(row.base_url, row.body, 1).slice(0, INPUT_HASH_DIGITS),
    createdAtMs: row.created_at_ms,
    heldCredits: isHeld ? row.spent : 0,
    missingPath: replacedBy === null ? (missing?.path ?? null) : null,
    replacedBy,
    wrongFormatPath: files.find((each) => each.kind === "unusable" && present.has(each))?.path ?? null,
    isOtherKey: row.api_key_id !== ledger.identity.apiKeyId,
  };
}

/** A task that two API keys of one account know is listed once: under the own key. */
function withoutDoubles({ identity }: RequestDeps["ledger"], rows: readonly RequestRow[]): RequestRow[] {
  const own = new Set(rows.filter(({ api_key_id }) => api_key_id === identity.apiKeyId).map(keyOfTask));
  return rows.filter((row) => row.api_key_id === identity.apiKeyId || !own.has(keyOfTask(row)));
}

const keyOfTask = ({ task_id, fingerprint }: RequestRow): string => task_id ?? fingerprint;

const toRowStatuses = (status: ListedStatus): AttemptStatus[] =>
  status === "succeeded" ? ["succeeded", "saved"] : [status];

/**
 * Lists requests at this service, the newest first.
 *
 * @param driver `null` in a program that drives nothing
 */
export async function listRecordedRequests(
  deps: ListDeps,
  { status, search, limit }: RequestListQuery,
  driver: RequestDriver | null,
): Promise<ListedRequest[]> {
  const { ledger } = deps;
  const listed = await listRequestRows(ledger, {
    apiKeys: "visible",
    statuses: status === null ? null : toRowStatuses(status),
    // Two API keys may each have a row of a task.
    limit: search === null ? 2 * limit : MAX_SEARCHED_REQUESTS,
  });
  const rows = withoutDoubles(ledger, listed);
  const filesOf = await readFilesOf(deps, rows);
  const found = (
    search === null ? rows : rows.filter((row) => search(listSearchedTexts(row, filesOf(row))))
  ).slice(0, limit);
  const present = await keepPresent(deps, found.flatMap(filesOf));
  return await Promise.all(
    found.map(async (row) => {
      const isAwaited = row.status === "waiting" || row.status === "unresolved";
      const activity = isAwaited ? await findActivity(deps, row, driver) : null;
      return toListedRequest(deps, row, { files: filesOf(row), present, activity });
    }),
  );
}

/** Reads the files of requests, the newest first. */
async function readFilesOf(
  { ledger }: ListDeps,
  rows: readonly RequestRow[],
): Promise<(row: RequestRow) => readonly FileRow[]> {
  const files = await listFiles(
    ledger,
    rows.map(({ id }) => id),
  );
  const byOwner = Map.groupBy(files, ({ owner }) => owner);
  return ({ id }) => byOwner.get(id) ?? [];
}

const listSearchedTexts = (row: RequestRow, files: readonly FileRow[]): string[] => [
  parseStoredInput(row)?.prompt ?? "",
  row.file_name ?? "",
  ...files.map(({ path }) => basename(path)),
];

const TITLE_CODE_POINTS = 60;

/** A saved file in a list of resources. */
export interface ListedFile {
  readonly path: string;
  readonly name: string;
  /** The start of the text. */
  readonly title: string | null;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly savedAtMs: number;
}

/** Lists the newest saved files that exist, each once. */
export async function listNewestSaved(deps: ListDeps, limit: number): Promise<ListedFile[]> {
  const rows = await listRequestRows(deps.ledger, { apiKeys: "visible", statuses: ["saved"], limit });
  const filesOf = await readFilesOf(deps, rows);
  const present = await keepPresent(deps, rows.flatMap(filesOf));
  const listed = new Map<string, ListedFile>();
  for (const row of rows) {
    const file = filesOf(row).find((candidate) => candidate.kind === "audio" && present.has(candidate));
    if (file === undefined || listed.has(file.path)) continue;
    const prompt = parseStoredInput(row)?.prompt ?? "";
    listed.set(file.path, {
      path: file.path,
      name: basename(file.path),
      title: prompt === "" ? null : takeFirstCodePoints(prompt.replaceAll(/\s+/g, " "), TITLE_CODE_POINTS),
      mimeType: MIME_TYPES[parseStoredFormat(row).format],
      sizeBytes: file.size_bytes,
      savedAtMs: file.saved_at_ms,
    });
  }
  return [...listed.values()];
}

/** Lists the task ids of the newest requests, under every API key that this machine has used. */
export async function listNewestTaskIds({ ledger }: ListDeps, limit: number): Promise<string[]> {
  const rows = await listRequestRows(ledger, { apiKeys: "visible", statuses: null, limit });
  return rows.flatMap(({ task_id }) => (task_id === null ? [] : [task_id]));
}
