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

/** The hashes of the units' texts. A hash is computed on first use, and only once for equal texts. */
export class UnitHashes {
  readonly #texts: (index: number) => string;
  readonly #count: number;
  readonly #hashes: Float64Array;
  readonly #known = new Map<string, number>();

  constructor(count: number, texts: (index: number) => string) {
    this.#count = count;
    this.#texts = texts;
    this.#hashes = new Float64Array(count).fill(-1);
  }

  /** Compares two units by their hashes. If the hashes are equal, compares the next units, up to three. */
  compare(a: number, b: number): number {
    for (let ahead = 0; ahead < COMPARED_UNITS; ahead += 1) {
      const difference = this.#hashOf(a + ahead) - this.#hashOf(b + ahead);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  #hashOf(index: number): number {
    if (index >= this.#count) return -1;
    const cachedHash = this.#hashes[index] ?? -1;
    if (cachedHash >= 0) return cachedHash;
    const text = this.#texts(index);
    let unitHash = this.#known.get(text);
    if (unitHash === undefined) {
      unitHash = hash("sha256", text, "buffer").readUIntBE(0, HASH_BYTES);
      this.#known.set(text, unitHash);
    }
    this.#hashes[index] = unitHash;
    return unitHash;
  }
}
