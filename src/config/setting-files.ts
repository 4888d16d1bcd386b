/** Reads the small JSON files that settings name: `AUDIO_VOICE_NOTES` and `AUDIO_PRONUNCIATIONS`. */
import { readFileSync, statSync } from "node:fs";
import { z } from "zod";
import { takeFirstCodePoints } from "../contract/unicode.ts";
import { LANGUAGES, VOICE_IDS, type VoiceId } from "../contract/voices.ts";
import { hasLetterOrDigit, type Pronunciation } from "../pronunciation.ts";

const MAX_BYTES = 64 * 1024;

/**
 * Reads a JSON file of at most 64 KiB in UTF-8. `issue` is a clause that follows the word "which", such as "is not a
 * file".
 *
 * @param example words that follow "is not JSON"
 */
function readSmallJson(
  path: string,
  example: string,
): { readonly value: unknown } | { readonly issue: string } {
  let text: string;
  try {
    const stats = statSync(path);
    if (!stats.isFile()) return { issue: "is not a file" };
    if (stats.size > MAX_BYTES) return { issue: `is larger than ${MAX_BYTES / 1024} KiB` };
    text = readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "no reason given";
    return { issue: `cannot be read (${code})` };
  }
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { issue: `is not JSON ${example}` };
  }
}

const MAX_NOTE_CODE_POINTS = 200;

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
  takeFirstCodePoints(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim(), MAX_NOTE_CODE_POINTS);

/**
 * Reads a person's notes about voices, a file that maps voice ids to notes.
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

const MAX_RULES = 500;
const MAX_WORD_CODE_UNITS = 200;

const wordSchema = z.string().min(1).max(MAX_WORD_CODE_UNITS);
const spelling = z.string().max(MAX_WORD_CODE_UNITS).regex(/\S/);
const rulesFile = z.record(
  wordSchema,
  z.union([spelling, z.strictObject({ say: spelling, language: z.enum(LANGUAGES).optional() })]),
);

export interface LoadedPronunciations {
  readonly rules: readonly Pronunciation[];
  /** Words without letters or digits; `doctor` reports them. */
  readonly wordsWithoutLetters: readonly string[];
}

export const NO_PRONUNCIATIONS: LoadedPronunciations = { rules: [], wordsWithoutLetters: [] };

const EXAMPLE_FILE = 'such as { "Nguyen": "Win", "C++": { "say": "C plus plus", "language": "en" } }';

/**
 * Reads the pronunciation rules, a file that maps words to spellings.
 *
 * @returns the rules, or a clause that says what is wrong with the file
 */
export function readPronunciations(path: string): LoadedPronunciations | string {
  const fileRead = readSmallJson(path, EXAMPLE_FILE);
  if ("issue" in fileRead) return fileRead.issue;
  const parsed = rulesFile.safeParse(fileRead.value);
  if (!parsed.success) {
    const [writtenWord] = parsed.error.issues[0]?.path ?? [];
    const location =
      writtenWord === undefined
        ? ""
        : `: the rule of ${JSON.stringify(String(writtenWord).slice(0, 40))} cannot be read`;
    return `is not an object of rules ${EXAMPLE_FILE}${location}`;
  }
  const rules = Object.entries(parsed.data).map(([ruleWord, rule]): Pronunciation => {
    const { say, language = null } = typeof rule === "string" ? { say: rule } : rule;
    return { word: ruleWord, say, language };
  });
  if (rules.length > MAX_RULES) return `has ${rules.length} rules; at most ${MAX_RULES} are taken`;
  return {
    rules,
    wordsWithoutLetters: rules.map((rule) => rule.word).filter((ruleWord) => !hasLetterOrDigit(ruleWord)),
  };
}
