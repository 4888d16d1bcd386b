/** Renders a narration for `list_tasks` and the `tasks` command, as fields and as text. */
import { type NarrationRow, nextStepOf } from "../narration/list-row.ts";
import { isoWithOffset, localDateTime } from "./local-time.ts";
import { omitEmpty } from "./task-output.ts";

export interface ShownNarration extends Record<string, unknown> {
  readonly narration_id: string;
  readonly status: string;
  readonly title: string;
  readonly created_at: string;
  readonly next_step: string;
}

/** Builds the row of a narration; omits empty fields. */
export function narrationRow(row: NarrationRow): ShownNarration {
  const { narrationId, status, title, createdAtMs, credits, savedParts, totalParts, paths } = row;
  return {
    narration_id: narrationId,
    status,
    title,
    created_at: isoWithOffset(createdAtMs),
    parts: `${savedParts} of ${totalParts}`,
    ...omitEmpty({
      credits: status === "planned" ? null : credits,
      audio_seconds: row.audioSeconds,
      audio_paths: paths.length === 0 ? null : [...paths],
      missing_paths: row.missingPaths.length === 0 ? null : [...row.missingPaths],
    }),
    next_step: nextStepOf(row),
  };
}

/** Renders the whole row as text, for clients that show only the text. */
export function narrationLine(row: NarrationRow): string {
  const { narrationId, status, title, createdAtMs, credits, savedParts, totalParts, audioSeconds, paths } =
    row;
  const facts = [
    `narration, ${status}`,
    localDateTime(createdAtMs),
    `${savedParts} of ${totalParts} parts`,
    ...(status === "planned" ? [] : [`${credits} credits`]),
    ...(audioSeconds === null ? [] : [`${audioSeconds} s`]),
  ];
  const there = paths.length === 0 ? "" : ` ${paths.join(" ")}`;
  const gone = row.missingPaths.length === 0 ? "" : ` (file gone: ${row.missingPaths.join(" ")})`;
  const files = `${there}${gone}`;
  const next = status === "finished" && gone === "" ? "" : ` Next: ${nextStepOf(row)}`;
  return `${narrationId}: ${facts.join(", ")}. ${JSON.stringify(title)}${files}${next}`;
}
