/** Reads a person's notes about voices from `AUDIO_VOICE_NOTES`, a small JSON file that maps voice ids to notes. */
import { z } from "zod";
import { takeFirstCodePoints } from "../contract/unicode.ts";
import { VOICE_IDS, type VoiceId } from "../contract/voices.ts";
import { readSmallJson } from "./small-file.ts";

const MAX_CODE_POINTS = 200;

const EXAMPLE_NOTES = 'such as { "sophie_en_zh": "warm, calm" }';
const notesFile = z.record(z.string(), z.string());

export interface LoadedVoiceNotes {
  readonly notes: ReadonlyMap<VoiceId, string>;
  /** Ids in the file that belong to no voice. They are ignored, and `doctor` reports them. */
  readonly unknownIds: readonly string[];
}

export const NO_VOICE_NOTES: LoadedVoiceNotes = { notes: new Map(), unknownIds: [] };

const isVoiceId = (id: string): id is VoiceId => (VOICE_IDS as readonly string[]).includes(id);

/** Shortens a note to one line of bounded length, because lists show it beside the id. */
const toOneLine = (text: string): string =>
  takeFirstCodePoints(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim(), MAX_CODE_POINTS);

/**
 * Reads and validates the notes.
 *
 * @returns the notes, or a clause that says what is wrong with the file
 */
export function readVoiceNotes(path: string): LoadedVoiceNotes | string {
  const fileRead = readSmallJson(path, EXAMPLE_NOTES);
  if ("issue" in fileRead) return fileRead.issue;
  const parsed = notesFile.safeParse(fileRead.value);
  if (!parsed.success) return `is not JSON ${EXAMPLE_NOTES}`;
  const entries = Object.entries(parsed.data);
  const knownVoices = entries.flatMap(
    ([id, note]): Array<[VoiceId, string]> =>
      isVoiceId(id) && toOneLine(note) !== "" ? [[id, toOneLine(note)]] : [],
  );
  return {
    notes: new Map(knownVoices),
    unknownIds: entries.map(([id]) => id).filter((id) => !isVoiceId(id)),
  };
}
