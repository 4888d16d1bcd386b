/** Describes narrations as rows of the list that `list_tasks` returns. */
import { basename } from "node:path";
import { roundToMilliseconds } from "../contract/numbers.ts";
import { listFiles } from "../ledger/file-rows.ts";
import { listNewestNarrations, type NarrationProgress, readProgress } from "../ledger/narration-rows.ts";
import type { FileRow } from "../ledger/schema.ts";
import { findReplacer, keepPresent } from "../requests/saved-audio.ts";
import { MAX_NARRATIONS_SEARCHED, type Search } from "../search-words.ts";
import type { NarrationDeps } from "./narration-deps.ts";
import { chooseChapterTitle } from "./narration-file-names.ts";
import { listCompanions, listCurrentFiles } from "./narration-files.ts";
import { deriveNarrationStatus, type NarrationStatus } from "./narration-view.ts";

export interface ListedNarration extends NarrationProgress {
  readonly status: NarrationStatus;
  /** The saved files that still exist. */
  readonly files: ReadonlyArray<FileRow & { readonly chapterTitle: string | null }>;
  /** Paths of saved files that no longer exist, and that no other ones have replaced. */
  readonly missingPaths: readonly string[];
  /** The tasks and narrations whose files took the place of saved files. */
  readonly replacedBy: readonly string[];
  /** The captions and chapters beside the files that exist. */
  readonly companions: readonly FileRow[];
  /** Earlier recordings that still exist, the newest first. */
  readonly earlierFiles: readonly FileRow[];
  readonly audioSeconds: number | null;
}

type ListDeps = Pick<NarrationDeps, "ledger" | "plans" | "folder">;

async function buildListedNarration(
  { ledger, plans, folder }: ListDeps,
  progress: NarrationProgress,
  isRunning: (narrationId: string) => boolean,
): Promise<ListedNarration> {
  const { id } = progress.narration;
  const all = await listFiles(ledger, [id]);
  const rows = listCurrentFiles(all);
  const plan = rows.some(({ chapter }) => chapter !== null) ? await plans.get(id) : null;
  const toListed = (row: FileRow) => ({
    ...row,
    chapterTitle: plan === null || row.chapter === null ? null : chooseChapterTitle(plan, row.chapter),
  });
  const present = await keepPresent({ ledger, folder }, all);
  const missing = rows.filter((row) => !present.has(row));
  const replacers = new Map<FileRow, string>();
  for (const row of missing) {
    const replacer = await findReplacer({ ledger, folder }, row);
    if (replacer !== null) replacers.set(row, replacer);
  }
  const current = rows.filter((row) => present.has(row));
  const currentPaths = new Set(current.map(({ path }) => path));
  const isEarlier = (row: FileRow): boolean =>
    row.kind === "audio" && present.has(row) && !currentPaths.has(row.path);
  const seconds = rows.reduce((sum, row) => sum + (row.seconds ?? 0), 0);
  return {
    ...progress,
    status: deriveNarrationStatus(progress, isRunning),
    files: current.map(toListed),
    missingPaths: missing.flatMap((row) => (replacers.has(row) ? [] : [row.path])),
    replacedBy: [...new Set(replacers.values())],
    companions: current.flatMap((row) => listCompanions(all, row).filter((one) => present.has(one))),
    earlierFiles: all.filter(isEarlier),
    audioSeconds: rows.length === 0 ? null : roundToMilliseconds(seconds),
  };
}

/**
 * Lists narrations that a search finds, newest first; all narrations if it is `null`.
 *
 * @param isRunning whether this process drives a narration
 */
export async function listNarrations(
  deps: ListDeps,
  isRunning: (narrationId: string) => boolean,
  { search, limit }: { readonly search: Search | null; readonly limit: number },
): Promise<ListedNarration[]> {
  const listed: ListedNarration[] = [];
  const newest = await listNewestNarrations(deps.ledger, search === null ? limit : MAX_NARRATIONS_SEARCHED);
  for (const { id, title, file_name } of newest) {
    if (listed.length === limit) break;
    const isFound =
      search === null || search([title, file_name ?? "", ...(await listSearchedTexts(deps, id))]);
    if (!isFound) continue;
    const progress = await readProgress(deps.ledger, id);
    if (progress !== undefined) listed.push(await buildListedNarration(deps, progress, isRunning));
  }
  return listed;
}

/** Returns further texts that are searched: source name, names of files, and text. */
async function listSearchedTexts({ ledger, plans }: ListDeps, id: string): Promise<string[]> {
  // A plan that cannot be read must not hide the other narrations.
  const plan = await plans.get(id).catch(() => null);
  const files = await listFiles(ledger, [id]);
  return [
    plan?.sourceName ?? "",
    ...files.map(({ path }) => basename(path)),
    ...(plan?.parts.map(({ text }) => text) ?? []),
  ];
}
