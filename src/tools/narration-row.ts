/** Renders a narration for `list_tasks` and the `tasks` command, as fields and as text. */
import type { ListedNarration } from "../narration/listed-narrations.ts";
import { formatIsoWithOffset, formatLocalDateTime } from "./local-time.ts";
import { omitNullish } from "./task-output.ts";

/**
 * Maximum number of paths in a row. A sheet may have a thousand files, and the narration's own result lists all of
 * them.
 */
const MAX_PATHS = 10;

/** Names the next call to make, with its arguments. */
function describeListedNextStep(listed: ListedNarration): string {
  const { narration, status, missingPaths, replacedBy, bill } = listed;
  const call = `narrate with narration_id ${narration.id}`;
  switch (status) {
    case "planned":
      return `Nothing was sent. ${call} says its price.`;
    case "running":
      return `${call} waits for it.`;
    case "stopped":
      return narration.status === "running"
        ? `The process that ran it has ended; ${call} goes on, within the limit that was agreed.`
        : `${call} says why, and how to go on.`;
    case "finished":
      return missingPaths.length === 0 && replacedBy.length === 0
        ? "None; it is saved."
        : `${call} and max_credits ${Math.max(1, Math.round(bill.charged))} joins it again, free.`;
  }
}

/** Words what a row has cost, and what is held for it. */
export const listCredits = (row: {
  readonly status: string;
  readonly credits?: number | undefined;
  readonly held_credits?: number | undefined;
}): string[] => [
  ...(row.credits === undefined ? [] : [`${row.credits} credits`]),
  ...(row.held_credits === undefined
    ? []
    : [`${row.held_credits} credits ${row.status === "unresolved" ? "perhaps held" : "held"}`]),
];

const countFurther = (paths: readonly string[]): number | null =>
  paths.length > MAX_PATHS ? paths.length - MAX_PATHS : null;

const firstPaths = (paths: readonly string[]): string[] | null =>
  paths.length === 0 ? null : paths.slice(0, MAX_PATHS);

/** Counts the captions and chapters beside the files: "captions, chapters" or "5 captions, 5 chapters". */
function describeCompanions({ companions }: ListedNarration): string | null {
  const kinds = [...Map.groupBy(companions, ({ kind }) => (kind === "srt" ? "captions" : kind))];
  const words = kinds.map(([kind, rows]) => (rows.length === 1 ? kind : `${rows.length} ${kind}`));
  return words.length === 0 ? null : words.join(", ");
}

/** Builds the row of a narration; omits empty fields. */
export function buildNarrationRow(listed: ListedNarration) {
  const { narration, status, savedPartCount, totalPartCount, missingPaths, bill } = listed;
  const paths = listed.files.map(({ path }) => path);
  return {
    narration_id: narration.id,
    status,
    title: narration.title,
    created_at: formatIsoWithOffset(narration.created_at_ms),
    parts: `${savedPartCount} of ${totalPartCount}`,
    ...omitNullish({
      credits: status === "planned" ? null : Math.round(bill.charged),
      held_credits: bill.spent > bill.charged ? bill.spent - bill.charged : null,
      audio_seconds: listed.audioSeconds,
      audio_paths: firstPaths(paths),
      more_files: countFurther(paths),
      missing_paths: firstPaths(missingPaths),
      more_missing: countFurther(missingPaths),
      replaced_by: firstPaths(listed.replacedBy),
      beside: describeCompanions(listed),
      earlier_paths: firstPaths(listed.earlierFiles.map(({ path }) => path)),
    }),
    next_step: describeListedNextStep(listed),
  };
}

const describePaths = (paths: readonly string[], further: number | undefined): string =>
  `${paths.join(" ")}${further === undefined ? "" : ` and ${further} more`}`;

/** Renders the whole row as text, for clients that show only the text. */
export function renderNarrationLine(listed: ListedNarration): string {
  const row = buildNarrationRow(listed);
  const { audio_paths: paths, missing_paths: missing } = row;
  const facts = [
    `narration, ${row.status}`,
    formatLocalDateTime(listed.narration.created_at_ms),
    `${row.parts} parts`,
    ...listCredits(row),
    ...(row.audio_seconds === undefined ? [] : [`${row.audio_seconds} s`]),
  ];
  const there = paths === undefined ? "" : ` ${describePaths(paths, row.more_files)}`;
  const beside = row.beside === undefined ? "" : ` (with ${row.beside})`;
  const earlier = row.earlier_paths === undefined ? "" : ` (earlier: ${row.earlier_paths.join(" ")})`;
  const gone = missing === undefined ? "" : ` (file gone: ${describePaths(missing, row.more_missing)})`;
  const replaced =
    row.replaced_by === undefined ? "" : ` (file replaced by that of ${row.replaced_by.join(", ")})`;
  const lost = `${gone}${replaced}`;
  const next = row.status === "finished" && lost === "" ? "" : ` Next: ${row.next_step}`;
  return `${row.narration_id}: ${facts.join(", ")}. ${JSON.stringify(row.title)}${there}${beside}${earlier}${lost}${next}`;
}
