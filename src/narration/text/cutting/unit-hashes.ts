/**
 * Compares units by a hash of their text, so that an edit elsewhere does not move a cut (docs/reference-narrations.md,
 * Plan of a narration).
 */
import { hash } from "node:crypto";

/**
 * Number of consecutive units to compare. One unit is not enough, because several units may have the same text, as in a
 * refrain.
 */
const COMPARED_UNITS = 4;

/**
 * Number of bytes that are used of a hash: 6, because a JavaScript number does not represent every integer of 7 bytes
 * exactly.
 */
const HASH_BYTES = 6;

/**
 * Returns a comparison of two units by their hashes. If the hashes are equal, it compares the next units, up to three.
 *
 * @param textOf the text of a unit from which its hash is computed
 */
export function createHashOrder(
  unitCount: number,
  textOf: (index: number) => string,
): (one: number, other: number) => number {
  const hashesByText = new Map<string, number>();
  const hashOf = (index: number): number => {
    if (index >= unitCount) return -1;
    const text = textOf(index);
    const known = hashesByText.get(text) ?? hash("sha256", text, "buffer").readUIntBE(0, HASH_BYTES);
    hashesByText.set(text, known);
    return known;
  };
  return (one, other) => {
    for (let ahead = 0; ahead < COMPARED_UNITS; ahead += 1) {
      const difference = hashOf(one + ahead) - hashOf(other + ahead);
      if (difference !== 0) return difference;
    }
    return 0;
  };
}
