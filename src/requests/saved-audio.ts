/** Finds the audio of requests on this machine, unchanged or as it was recorded. */
import { basename } from "node:path";
import { AudioError } from "../errors.ts";
import { buildAutomaticName, buildRequestedName } from "../files/file-name.ts";
import type { SavedFile } from "../files/save-audio.ts";
import { isIntact, isThere } from "../files/saved-copies.ts";
import { findFilesAt, listFiles, listSavedAt } from "../ledger/file-rows.ts";
import { findRequest, forgetAudio } from "../ledger/request-rows.ts";
import type { FileRow, RequestRow } from "../ledger/schema.ts";
import type { RequestDeps } from "./deps.ts";
import { getIds, parseStoredFormat, parseStoredInput } from "./stored-input.ts";

export const toSavedFile = (row: FileRow): SavedFile => ({
  path: row.path,
  sizeBytes: row.size_bytes,
  sha256: row.sha256,
  savedAtMs: row.saved_at_ms,
  matchesFormat: row.kind !== "unusable",
});

/** Builds the row of a published file of a request. */
export const toFileRow = (owner: string, file: SavedFile): FileRow => ({
  path: file.path,
  owner,
  kind: file.matchesFormat ? "audio" : "unusable",
  chapter: null,
  size_bytes: file.sizeBytes,
  sha256: file.sha256,
  saved_at_ms: file.savedAtMs,
  inputs: null,
  seconds: file.shortSeconds ?? null,
  lacks: null,
  doubtful: null,
});

/** Returns the file name for a requested name, or an automatic one. If the name is taken, a number is added later. */
export function chooseFileName(row: RequestRow, fileName: string | null): string {
  const { format } = parseStoredFormat(row);
  if (fileName !== null) return buildRequestedName(fileName, format);
  return buildAutomaticName(format, parseStoredInput(row)?.prompt ?? null, row.task_id ?? "task");
}

/** Whether a file of a request holds less audio than the service stated. Only such a file has its length in its row. */
export const isShort = ({ kind, seconds }: FileRow): boolean => kind === "audio" && seconds !== null;

/**
 * Finds unchanged audio like {@link findSavedAudio}, for a call that begins. Audio of the own API key that is shorter
 * than the service stated is downloaded again: until then, its request does not count as saved.
 *
 * @returns the file, or `null`; the file that is too short, or `null`; and the requests as they are now
 */
export async function findOrReopenAudio(
  deps: Pick<RequestDeps, "ledger" | "folder">,
  owners: readonly RequestRow[],
  fileName: string | null,
): Promise<{
  readonly file: FileRow | null;
  readonly short: FileRow | null;
  readonly rows: readonly RequestRow[];
}> {
  const file = await findSavedAudio(deps, owners, fileName);
  const owner = owners.find(({ id }) => id === file?.owner);
  const { ledger } = deps;
  if (file === null || owner === undefined || !isShort(file)) return { file, short: null, rows: owners };
  if (owner.api_key_id !== ledger.identity.apiKeyId) return { file, short: null, rows: owners };
  await forgetAudio(ledger, owner, null);
  return {
    file: null,
    short: file,
    rows: owners.map((row) => (row === owner ? { ...row, status: "succeeded" } : row)),
  };
}

/**
 * Returns those files that are still there: they exist with their recorded size, and nothing else was saved at their
 * paths later. Reads no content, because lists must be quick.
 */
export async function keepPresent(
  { ledger, folder }: Pick<RequestDeps, "ledger" | "folder">,
  files: readonly FileRow[],
): Promise<ReadonlySet<FileRow>> {
  const saved = await listSavedAt(ledger, [...new Set(files.map(({ path }) => path))]);
  const newest = new Map(saved.map(({ path, sha256 }) => [path, sha256]));
  const candidates = files.filter(({ path, sha256 }) => newest.get(path) === sha256);
  const exist = await Promise.all(candidates.map((file) => isThere(toSavedFile(file), folder.root)));
  return new Set(candidates.filter((_, index) => exist[index]));
}

/**
 * Finds who has the path of a file now, because its file took the place of the older one; `null` if nobody has.
 *
 * @returns the task id of a request, or the id of a narration
 */
export async function findReplacer(
  deps: Pick<RequestDeps, "ledger" | "folder">,
  { path, owner }: Pick<FileRow, "path" | "owner">,
): Promise<string | null> {
  const [newest] = await findFilesAt(deps.ledger, path);
  if (newest === undefined || newest.owner === owner) return null;
  if (!(await isThere(toSavedFile(newest), deps.folder.root))) return null;
  return (await findRequest(deps.ledger, newest.owner))?.task_id ?? newest.owner;
}

/**
 * Finds unchanged audio of requests on this machine, by size and hash. Prefers the wanted name, then the newest.
 *
 * @param fileName as given by the caller, with or without extension; `null` for any name
 * @returns `null` if there is none; bytes that are not of their format do not count
 */
export async function findSavedAudio(
  { ledger, folder }: Pick<RequestDeps, "ledger" | "folder">,
  owners: readonly RequestRow[],
  fileName: string | null,
): Promise<FileRow | null> {
  const ids = owners.filter(({ status }) => status === "saved").map(({ id }) => id);
  const files = (await listFiles(ledger, ids)).filter(({ kind }) => kind === "audio");
  const preferredNames = new Set(
    fileName === null ? [] : owners.map((owner) => chooseFileName(owner, fileName)),
  );
  const rank = ({ path }: FileRow): number => (preferredNames.has(basename(path)) ? 0 : 1);
  for (const file of files.sort((a, b) => rank(a) - rank(b))) {
    if (await isIntact(toSavedFile(file), folder.root)) return file;
  }
  return null;
}

/** The error for bytes that do not match their format. They are paid for and kept, but not returned as audio. */
export function wrongFormatError(row: RequestRow, path: string): AudioError {
  return new AudioError(
    "unexpected_response",
    `The service delivered bytes that are not ${parseStoredFormat(row).format}${row.is_listed === 1 ? " and no other audio" : ""}; they are kept as ${path}${row.charged_credits === null ? "" : `, and cost ${row.charged_credits} credits`}.`,
    {
      ...getIds(row),
      remedy: {
        assistant:
          "Tell the user where the file is and that its content is not the audio format asked for. Asking again with the same arguments costs nothing, and most likely gives the same; another take costs credits.",
        terminal:
          "The same command costs nothing, and most likely gives the same; another take costs credits.",
      },
    },
  );
}
