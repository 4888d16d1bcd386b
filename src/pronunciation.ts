/** Respells words before a text is sent, so that voices pronounce them as the user wants. */
import { type Language, VOICES } from "./contract/voices.ts";

export interface Pronunciation {
  readonly word: string;
  /** The spelling that is sent instead of the word. */
  readonly say: string;
  /** Restricts the rule to voices of this language; `null` for all voices. */
  readonly language: Language | null;
}

export interface Respelled {
  readonly text: string;
  /** The words that were replaced, in the order of their first use. */
  readonly replacedWords: readonly string[];
}

/** Scripts without spaces, in which a word can start and end anywhere. */
const UNSPACED_SCRIPT =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const IN_WORD = /[\p{L}\p{N}\p{M}]/u;

const isInWord = (character: string | undefined): boolean =>
  character !== undefined && IN_WORD.test(character) && !UNSPACED_SCRIPT.test(character);

/** Whether a word contains a letter or a digit. `doctor` reports words without either. */
export const hasLetterOrDigit = (word: string): boolean => /[\p{L}\p{N}]/u.test(word);

interface Candidate {
  readonly rule: Pronunciation;
  readonly characters: readonly string[];
  /** Whether the rule ignores case. True if the rule's word is in lower case. */
  readonly ignoresCase: boolean;
}

const lower = (text: string): string => text.toLowerCase();

/** Groups the rules by the lower-case first character of their word, longest word first. */
function groupByFirstCharacter(rules: readonly Pronunciation[]): ReadonlyMap<string, readonly Candidate[]> {
  const candidates = rules.map(
    (rule): Candidate => ({
      rule,
      characters: Array.from(rule.word),
      ignoresCase: rule.word === lower(rule.word),
    }),
  );
  candidates.sort((one, other) => other.characters.length - one.characters.length);
  return Map.groupBy(candidates, ({ characters }) => lower(characters[0] ?? ""));
}

function matches({ characters, ignoresCase }: Candidate, text: readonly string[], index: number): boolean {
  const isSame = characters.every((character, offset) => {
    const textCharacter = text[index + offset];
    return (
      textCharacter === character ||
      (ignoresCase && textCharacter !== undefined && lower(textCharacter) === character)
    );
  });
  if (!isSame) return false;
  const cutsBefore = isInWord(text[index - 1]) && isInWord(characters[0]);
  const cutsBehind = isInWord(text[index + characters.length]) && isInWord(characters.at(-1));
  return !cutsBefore && !cutsBehind;
}

/**
 * Replaces words in one pass from left to right. If several words match at one position, replaces the longest. Does not
 * search replacements again. Matches only whole words: the word must not continue with a letter, digit or mark of
 * Unicode on either side.
 */
export function respell(text: string, rules: readonly Pronunciation[]): Respelled {
  const byFirst = groupByFirstCharacter(rules);
  if (byFirst.size === 0) return { text, replacedWords: [] };
  const characters = Array.from(text);
  const replacedWords = new Set<string>();
  let spoken = "";
  for (let index = 0; index < characters.length; ) {
    const character = characters[index] ?? "";
    const matchedCandidate = byFirst
      .get(lower(character))
      ?.find((candidate) => matches(candidate, characters, index));
    if (matchedCandidate !== undefined && matchedCandidate.rule.say !== matchedCandidate.rule.word)
      replacedWords.add(matchedCandidate.rule.word);
    spoken += matchedCandidate?.rule.say ?? character;
    index += matchedCandidate?.characters.length ?? 1;
  }
  return { text: spoken, replacedWords: [...replacedWords] };
}

/**
 * Selects the rules for a voice. A rule with a language applies if the voice speaks that language, or if no voice is
 * chosen.
 */
export function selectRules(
  rules: readonly Pronunciation[],
  voice: string | undefined,
): readonly Pronunciation[] {
  const languages = VOICES.find(({ id }) => id === voice)?.languages;
  return rules.filter(
    ({ language }) => language === null || languages === undefined || languages.includes(language),
  );
}

/** Merges rules. A later rule replaces the earlier rules for the same word. */
export function mergeRules(
  earlier: readonly Pronunciation[],
  later: readonly Pronunciation[],
): readonly Pronunciation[] {
  const byWord = new Map([...earlier, ...later].map((rule) => [`${rule.language} ${rule.word}`, rule]));
  // The later rules come from a call and apply to every voice. So if both lists have a rule for a word, remove the
  // earlier rule, even if it is for another language.
  const laterWords = new Set(later.map(({ word }) => word));
  return [...byWord.values()].filter((rule) => later.includes(rule) || !laterWords.has(rule.word));
}

const MAX_NAMED_WORDS = 10;

/** Returns a list with one note about words; an empty list if there are none. */
const listNote = (start: string, words: readonly string[]): string[] =>
  words.length === 0
    ? []
    : [
        `${start}: ${words.slice(0, MAX_NAMED_WORDS).join(", ")}${words.length > MAX_NAMED_WORDS ? ` and ${words.length - MAX_NAMED_WORDS} more` : ""}.`,
      ];

/** Returns a list with one note that names the respelled words; an empty list if there are none. */
export const describeRespelledWords = (replacedWords: readonly string[]): string[] =>
  listNote("Respelled", replacedWords);

/** Returns a list with one note that names words of a call's rules that the text does not have. */
export const describeUnusedWords = (
  rules: readonly Pronunciation[],
  replacedWords: readonly string[],
): string[] =>
  listNote(
    "Not in the text as a word of its own, so not respelled",
    rules.filter(({ word, say }) => word !== say && !replacedWords.includes(word)).map(({ word }) => word),
  );
