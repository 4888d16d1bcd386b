/** Renders a narration for `list_tasks` and the `tasks` command, as fields and as text. */
import type { ListedNarration } from "../narration/listed-narrations.ts";
import { formatIsoWithOffset, formatLocalDateTime } from "./local-time.ts";
import { omitNullish } from "./task-output.ts";

export interface ShownNarration extends Record<string, unknown> {
  readonly narration_id: string;
  readonly status: string;
  readonly title: string;
  readonly created_at: string;
  readonly next_step: string;
}

/**
 * Maximum number of paths in a row. A sheet may have a thousand files, and the narration's own result lists all of
 * them.
 */
const MAX_PATHS = 10;

/** Names the next call to make, with its arguments. */
export function describeListedNextStep({
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

/** Builds the row of a narration; omits empty fields. */
export function renderListedNarration(row: ListedNarration): ShownNarration {
  const { narrationId, status, title, createdAtMs, credits, savedPartCount, totalPartCount, paths } = row;
  return {
    narration_id: narrationId,
    status,
    title,
    created_at: formatIsoWithOffset(createdAtMs),
    parts: `${savedPartCount} of ${totalPartCount}`,
    ...omitNullish({
      credits: status === "planned" ? null : credits,
      audio_seconds: row.audioSeconds,
      audio_paths: paths.length === 0 ? null : paths.slice(0, MAX_PATHS),
      more_files: paths.length > MAX_PATHS ? paths.length - MAX_PATHS : null,
      missing_paths: row.missingPaths.length === 0 ? null : row.missingPaths.slice(0, MAX_PATHS),
      more_missing: row.missingPaths.length > MAX_PATHS ? row.missingPaths.length - MAX_PATHS : null,
    }),
    next_step: describeListedNextStep(row),
  };
}

function listPaths(paths: readonly string[]): string {
  const furtherCount = paths.length - MAX_PATHS;
  return `${paths.slice(0, MAX_PATHS).join(" ")}${furtherCount > 0 ? ` and ${furtherCount} more` : ""}`;
}

/** Renders the whole row as text, for clients that show only the text. */
export function renderListedNarrationLine(row: ListedNarration): string {
  const {
    narrationId,
    status,
    title,
    createdAtMs,
    credits,
    savedPartCount,
    totalPartCount,
    audioSeconds,
    paths,
  } = row;
  const facts = [
    `narration, ${status}`,
    formatLocalDateTime(createdAtMs),
    `${savedPartCount} of ${totalPartCount} parts`,
    ...(status === "planned" ? [] : [`${credits} credits`]),
    ...(audioSeconds === null ? [] : [`${audioSeconds} s`]),
  ];
  const pathList = paths.length === 0 ? "" : ` ${listPaths(paths)}`;
  const gone = row.missingPaths.length === 0 ? "" : ` (file gone: ${listPaths(row.missingPaths)})`;
  const files = `${pathList}${gone}`;
  const next = status === "finished" && gone === "" ? "" : ` Next: ${describeListedNextStep(row)}`;
  return `${narrationId}: ${facts.join(", ")}. ${JSON.stringify(title)}${files}${next}`;
}
