/**
 * Lists saved files and task ids for `resources/list` and completion, from the ledger and without resuming any
 * task.
 */
import { basename } from "node:path";
import { MIME_TYPES } from "../../contract/audio-format.ts";
import { takeFirstCodePoints } from "../../contract/unicode.ts";
import { findNewestExisting } from "../../files/newest-existing.ts";
import type { RequestDeps } from "../deps.ts";
import { createFileOwnerFilter } from "../records/file-owner-filter.ts";
import { parseStoredFormat, parseStoredInput } from "../records/stored-input.ts";

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

type NewestDeps = Pick<RequestDeps, "ledger" | "folder">;

/** Lists the newest saved files that exist, each once. */
export async function listNewestSaved({ ledger, folder }: NewestDeps, limit: number): Promise<ListedFile[]> {
  const records = await ledger.list({ apiKeys: "all", status: "succeeded", limit });
  const ownedFiles = createFileOwnerFilter(records);
  const existingFiles = await Promise.all(
    records.map(async (record): Promise<ListedFile | null> => {
      const matchingFiles = ownedFiles(record).filter(({ matchesFormat }) => matchesFormat);
      const path = await findNewestExisting(matchingFiles, folder.root);
      const file = matchingFiles.findLast((candidate) => candidate.path === path);
      if (path === null || file === undefined) return null;
      const prompt = parseStoredInput(record)?.prompt ?? "";
      return {
        path,
        name: basename(path),
        title: prompt === "" ? null : takeFirstCodePoints(prompt.replaceAll(/\s+/g, " "), TITLE_CODE_POINTS),
        mimeType: MIME_TYPES[parseStoredFormat(record).format],
        sizeBytes: file.sizeBytes,
        savedAtMs: file.savedAtMs,
      };
    }),
  );
  return existingFiles.filter((file) => file !== null);
}

/**
 * Lists the task ids of the newest `limit` records, under all API keys that this machine has used. Leaves out records
 * without a task id.
 */
export async function listNewestTaskIds({ ledger }: NewestDeps, limit: number): Promise<string[]> {
  const records = await ledger.list({ apiKeys: "all", limit });
  return records.flatMap(({ taskId }) => (taskId === null ? [] : [taskId]));
}
