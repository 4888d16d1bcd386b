/** Measures how similar two names are. */

/** Counts the letters to change, add or remove to make two names equal (Levenshtein distance). */
export function computeEditDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (above[column - 1] ?? 0) + (a.charAt(row - 1) === b.charAt(column - 1) ? 0 : 1);
      current.push(Math.min(replaced, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
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
