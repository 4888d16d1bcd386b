/** Finds names that are similar to a given one: of options, settings and voices. */
import { VOICES, type Voice, type VoiceId } from "./voices.ts";

/** Counts the letters to change, add, remove or swap with their neighbour to make two names equal. */
function computeEditDistance(a: string, b: string): number {
  let aboveThat: readonly number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (above[column - 1] ?? 0) + (a.charAt(row - 1) === b.charAt(column - 1) ? 0 : 1);
      const isSwapped =
        a.charAt(row - 1) === b.charAt(column - 2) && a.charAt(row - 2) === b.charAt(column - 1);
      const swapped =
        row > 1 && column > 1 && isSwapped ? (aboveThat[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      current.push(Math.min(replaced, swapped, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    aboveThat = above;
    above = current;
  }
  return above[b.length] ?? 0;
}

const listWords = (name: string): string[] => name.toLowerCase().split(/[_-]+/);

/**
 * Finds the name that was most likely meant: one that contains every word of the given name, or else the one with the
 * fewest other letters, at most a third. Returns `null` if no name is near.
 */
export function findNearestName(given: string, names: readonly string[]): string | null {
  const wanted = given.slice(0, 64);
  const withAllWords = names.find((name) =>
    listWords(wanted).every((word) => listWords(name).includes(word)),
  );
  if (withAllWords !== undefined) return withAllWords;
  const [best] = names
    .map((name) => ({ name, distance: computeEditDistance(wanted.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.round(Math.max(wanted.length, name.length) / 3))
    .sort((a, b) => a.distance - b.distance);
  return best?.name ?? null;
}

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

function measureSimilarity(wanted: string, { id, name }: Voice) {
  const alone = name.toLowerCase().replaceAll(" ", "_");
  return {
    id,
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
  const ranked = VOICES.map((voice) => measureSimilarity(wantedWords, voice))
    .filter(
      ({ beginning, distance }) =>
        beginning >= MIN_SHARED_LETTERS || (beginning > 0 && distance <= Math.ceil(wantedWords.length / 2)),
    )
    .sort((a, b) => b.beginning - a.beginning || a.distance - b.distance);
  const [best] = ranked;
  return ranked.filter(({ beginning }) => beginning === best?.beginning).map(({ id }) => id);
}
