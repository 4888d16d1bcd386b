/** A narration as a row of the list of tasks. */
import type { NarrationEntry } from "./narration-book.ts";
import { statusOf } from "./narration-view.ts";

export interface NarrationRow {
  readonly narrationId: string;
  readonly status: ReturnType<typeof statusOf>;
  readonly title: string;
  readonly createdAtMs: number;
  readonly credits: number;
  readonly savedParts: number;
  readonly totalParts: number;
  readonly paths: readonly string[];
  readonly audioSeconds: number | null;
}

export function rowOf(entry: NarrationEntry): NarrationRow {
  const { narrationId, state } = entry;
  const seconds = state.files.reduce((sum, { durationSeconds }) => sum + durationSeconds, 0);
  return {
    narrationId,
    status: statusOf(entry),
    title: state.title,
    createdAtMs: state.createdAtMs,
    credits: Math.round(state.chargedCredits),
    savedParts: state.savedParts,
    totalParts: state.totalParts,
    paths: state.files.map(({ path }) => path),
    audioSeconds: state.files.length === 0 ? null : Math.round(seconds * 1000) / 1000,
  };
}

/** Whether a row holds every word of a query, in its title or in the names of its files. */
export function holdsWords({ title, paths }: NarrationRow, query: string): boolean {
  const haystack = [title, ...paths].join("\n").toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => haystack.includes(word));
}

/** What to call next, complete in itself. */
export function nextStepOf({ narrationId, status }: NarrationRow): string {
  switch (status) {
    case "planned":
      return `Nothing was sent. narrate with narration_id ${narrationId} tells its price.`;
    case "running":
      return `narrate with narration_id ${narrationId} waits for it.`;
    case "stopped":
      return `narrate with narration_id ${narrationId} tells why, and how to go on.`;
    case "finished":
      return "None; it is saved.";
  }
}
