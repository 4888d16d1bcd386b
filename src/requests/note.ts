/** A note says why a request waits although a process works on it. It is stored in the request's row. */
import { z } from "zod";
import type { RequestRow } from "../ledger/schema.ts";
import { storedErrorSchema } from "../ledger/stored-error.ts";
import { parseJson } from "../parse-json.ts";

export const NOTE_KINDS = [
  /** The service answered 503. */
  "unavailable",
  /** The submission got no usable answer. */
  "retrying",
  /** A 402, while credits are held by tasks that run. */
  "credits",
  /** A query of the task has failed. */
  "query",
  /** The download has failed. */
  "download",
  /** The limit of reads is used up. */
  "reads_rate",
  /** The service asked for a pause of reads. */
  "reads_cooldown",
  /** The service states a status that its contract does not define. */
  "unknown_status",
] as const;

const noteSchema = z.object({
  kind: z.enum(NOTE_KINDS),
  error: storedErrorSchema.optional(),
  /** The status that the contract does not define; `""` if it cannot be shown. */
  status: z.string().optional(),
  /** Wall-clock milliseconds since which it waits for this reason. */
  sinceMs: z.number(),
  /** When it is tried again, in wall-clock milliseconds. */
  untilMs: z.number().nullable(),
});
export type Note = z.infer<typeof noteSchema>;

/** Parses the note of a row; `null` if there is none, or if it is damaged. */
export const parseNote = ({ note }: Pick<RequestRow, "note">): Note | null => parseJson(noteSchema, note);

/**
 * Returns the column for a new note. Keeps the time since which it waits, if the reason is the same.
 *
 * @param before the row as it is
 */
export function buildNote(
  before: Pick<RequestRow, "note">,
  note: Omit<Note, "sinceMs">,
  nowMs: number,
): string {
  const earlier = parseNote(before);
  const sinceMs = earlier?.kind === note.kind ? earlier.sinceMs : nowMs;
  return JSON.stringify({ ...note, sinceMs });
}
