/** Reads the pronunciation rules of `AUDIO_PRONUNCIATIONS`, a small JSON file that maps words to spellings. */
import { z } from "zod";
import { LANGUAGES } from "../contract/voices.ts";
import { hasLetterOrDigit, type Pronunciation } from "../pronunciation.ts";
import { readSmallJson } from "./small-file.ts";

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
 * Reads and validates the rules.
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
