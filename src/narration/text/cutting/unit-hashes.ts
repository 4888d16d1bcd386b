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
  const computeHash = (text: string): number => {
    const unitHash = hashesByText.get(text) ?? hash("sha256", text, "buffer").readUIntBE(0, HASH_BYTES);
    hashesByText.set(text, unitHash);
    return unitHash;
  };
  // A text without punctuation has so many units that their hashes are looked up by index.
  const hashes = new Float64Array(unitCount + COMPARED_UNITS).fill(-1);
  const hashOf = (index: number): number => {
    if (index < unitCount && hashes[index] === -1) hashes[index] = computeHash(textOf(index));
    return hashes[index] ?? -1;
  };
  return (one, other) => {
    for (let ahead = 0; ahead < COMPARED_UNITS; ahead += 1) {
      const difference = hashOf(one + ahead) - hashOf(other + ahead);
      if (difference !== 0) return difference;
    }
    return 0;
  };
}
