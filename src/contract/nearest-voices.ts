/** Suggests voices with similar names. Names with the same beginning count as most similar. */
import { computeEditDistance } from "./edit-distance.ts";
import { VOICES, type Voice, type VoiceId } from "./voices.ts";

/**
 * Two names are similar if at least this many letters at their beginnings are equal. If fewer letters are equal, the
 * edit distance of the whole names decides. If even the first letter differs, the names are not similar.
 */
const MIN_SHARED_LETTERS = 3;

function measureCommonBeginning(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a.charAt(length) === b.charAt(length)) length += 1;
  return length;
}

interface Similarity {
  readonly beginning: number;
  readonly distance: number;
}

function measureSimilarity(wanted: string, { id, name }: Voice): Similarity {
  const alone = name.toLowerCase().replaceAll(" ", "_");
  return {
    beginning: Math.max(measureCommonBeginning(wanted, alone), measureCommonBeginning(wanted, id)),
    distance: Math.min(computeEditDistance(wanted, alone), computeEditDistance(wanted, id)),
  };
}

/**
 * Finds the voices whose name or id has the longest beginning in common with the text, most similar first. Returns an
 * empty list if no name is similar.
 */
export function findNearestVoices(text: string): VoiceId[] {
  const wantedWords = text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, "_")
    .slice(0, 64);
  const isNear = (voice: Similarity): boolean =>
    voice.beginning >= MIN_SHARED_LETTERS ||
    (voice.beginning > 0 && voice.distance <= Math.ceil(wantedWords.length / 2));
  const ranked = VOICES.map((voice) => ({ id: voice.id, ...measureSimilarity(wantedWords, voice) }))
    .filter(isNear)
    .sort((a, b) => b.beginning - a.beginning || a.distance - b.distance);
  const [best] = ranked;
  return ranked.filter(({ beginning }) => beginning === best?.beginning).map(({ id }) => id);
}
