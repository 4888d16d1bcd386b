/** Divides tokens into phrases: sequences that the engine renders in one call. */
import { countSyllables, type SpeechToken } from "./tokens.ts";

/** The pause after a phrase. */
export type Gap = "none" | "short" | "long";

/** Tokens that the engine speaks in one call. The first and the last token are never pauses. */
export interface Phrase {
  readonly tokens: readonly SpeechToken[];
  readonly gapAfter: Gap;
}

/**
 * The end of a sentence ends a phrase that has at least this many syllables. A shorter phrase continues with the next
 * sentence, because each phrase is one call of the engine, and each call costs some milliseconds.
 */
const MIN_SYLLABLES_AT_SENTENCE_END = 8;
/** A comma ends a phrase that has at least this many syllables. */
const MIN_SYLLABLES_AT_COMMA = 20;
/** A phrase ends at any token once it has this many syllables, so that the engine's memory stays bounded. */
const MAX_SYLLABLES = 64;

function endsPhrase(pause: "short" | "long", syllables: number): boolean {
  return syllables >= (pause === "long" ? MIN_SYLLABLES_AT_SENTENCE_END : MIN_SYLLABLES_AT_COMMA);
}

/**
 * Divides tokens into phrases: at a pause if the phrase is long enough, and before the next token once the phrase has
 * 64 syllables. Drops pauses at the beginning and the end of a phrase.
 */
export function splitPhrases(tokens: readonly SpeechToken[]): Phrase[] {
  const phrases: Phrase[] = [];
  let current: SpeechToken[] = [];
  let syllables = 0;
  const finish = (gapAfter: Gap): void => {
    while (current.at(-1)?.kind === "pause") current.pop();
    if (current.length > 0) phrases.push({ tokens: current, gapAfter });
    current = [];
    syllables = 0;
  };
  for (const token of tokens) {
    if (token.kind === "pause") {
      if (endsPhrase(token.length, syllables)) finish(token.length);
      else if (current.length > 0 && current.at(-1)?.kind !== "pause") current.push(token);
      continue;
    }
    if (syllables >= MAX_SYLLABLES) finish("none");
    current.push(token);
    syllables += countSyllables(token);
  }
  finish("none");
  return phrases;
}
