/** Describes narrations as rows of the list that `list_tasks` returns. */

import { basename } from "node:path";
import { findNewestExisting } from "../../files/newest-existing.ts";
import { MAX_NARRATIONS_SEARCHED } from "../../ledger/search-limits.ts";
import { containsWords } from "../../search-words.ts";
import type {
  NarrationEntry,
  NarrationRepository,
  NarrationWithPlan,
} from "../state/narration-repository.ts";
import type { NarrationFile, StoredPlan } from "../state/narration-state.ts";
import { deriveNarrationStatus } from "./narration-view.ts";

export interface ListedNarration {
  readonly narrationId: string;
  readonly status: ReturnType<typeof deriveNarrationStatus>;
  readonly title: string;
  readonly createdAtMs: number;
  readonly credits: number;
  readonly savedPartCount: number;
  readonly totalPartCount: number;
  readonly paths: readonly string[];
  /** The saved files that still exist. */
  readonly files: readonly NarrationFile[];
  /** Whether the narration stopped because its process ended. The next call continues such a narration. */
  readonly isInterrupted: boolean;
  /** Paths of saved files that no longer exist. */
  readonly missingPaths: readonly string[];
  readonly audioSeconds: number | null;
}

/** Counts the parts of a narration that are saved now. */
type CountSaved = (known: NarrationWithPlan) => Promise<number>;

/**
 * Builds the row of one narration.
 *
 * @param root path of the output folder
 */
export async function buildListedNarration(
  repository: Pick<NarrationRepository, "getBill">,
  entry: NarrationEntry,
  root: string,
): Promise<ListedNarration> {
  const { narrationId, state } = entry;
  const { chargedCredits } = await repository.getBill(narrationId);
  const seconds = state.files.reduce((sum, { durationSeconds }) => sum + durationSeconds, 0);
  const areFilesPresent = await Promise.all(
    state.files.map(async (file) => (await findNewestExisting([file], root)) !== null),
  );
  const listPathsWhere = (there: boolean): string[] =>
    state.files.flatMap(({ path }, index) => (areFilesPresent[index] === there ? [path] : []));
  return {
    narrationId,
    status: deriveNarrationStatus(entry),
    title: state.title,
    createdAtMs: state.createdAtMs,
    credits: Math.round(chargedCredits),
    savedPartCount: state.savedPartCount,
    totalPartCount: state.totalPartCount,
    paths: listPathsWhere(true),
    files: state.files.filter((_, index) => areFilesPresent[index]),
    isInterrupted: deriveNarrationStatus(entry) !== state.status,
    missingPaths: listPathsWhere(false),
    audioSeconds: state.files.length === 0 ? null : Math.round(seconds * 1000) / 1000,
  };
}

/** Lists narrations that contain every word of the query, newest first. */
export async function listNarrations(
  repository: NarrationRepository,
  root: string,
  countSaved: CountSaved,
  { query, limit }: { readonly query: string | null; readonly limit: number },
): Promise<ListedNarration[]> {
  const listedNarrations: ListedNarration[] = [];
  for (const entry of await repository.listNewest(query === null ? limit : MAX_NARRATIONS_SEARCHED)) {
    if (listedNarrations.length === limit) break;
    if (
      query !== null &&
      !containsWords(listSearchedTexts(entry, (await repository.get(entry.narrationId)).plan), query)
    )
      continue;
    const row = await buildListedNarration(repository, entry, root);
    // Count the saved parts of a stopped narration again. Parts that were running when the narration stopped may have
    // been saved later. The stored state lacks these parts, because a stopped narration has no driver.
    const isStopped = row.status === "stopped";
    listedNarrations.push(
      isStopped ? { ...row, savedPartCount: await countSaved(await repository.get(row.narrationId)) } : row,
    );
  }
  return listedNarrations;
}

/** Returns the texts that a query searches: source name, title, requested name, names of files, and text. */
const listSearchedTexts = ({ state }: NarrationEntry, { parts, sourceName = "" }: StoredPlan): string[] => [
  sourceName,
  state.title,
  state.fileName ?? "",
  ...state.files.map(({ path }) => basename(path)),
  ...parts.map(({ text }) => text),
];

/** Names the next call to make, with its arguments. */
export function describeNextStep({
  narrationId,
  status,
  isInterrupted,
  missingPaths,
  credits,
}: ListedNarration): string {
  switch (status) {
    case "planned":
      return `Nothing was sent. narrate with narration_id ${narrationId} says its price.`;
    case "running":
      return `narrate with narration_id ${narrationId} waits for it.`;
    case "stopped":
      return isInterrupted
        ? `The process that ran it has ended; narrate with narration_id ${narrationId} goes on, within the limit that was agreed.`
        : `narrate with narration_id ${narrationId} says why, and how to go on.`;
    case "finished":
      return missingPaths.length === 0
        ? "None; it is saved."
        : `narrate with narration_id ${narrationId} and max_credits ${Math.max(1, credits)} joins it again, free.`;
  }
}
