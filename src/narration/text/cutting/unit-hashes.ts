/**
 * Ranks units by a hash of their text, so that an edit elsewhere does not move a cut (docs/reference-narrations.md,
 * Plan of a narration).
 */
import { hash } from "node:crypto";

/** Number of units in a row to compare, because single units may be equal, as in a refrain. */
const LOOK_AHEAD = 4;

/**
 * Number of bytes of a hash that form a rank. A JavaScript number represents every integer of 6 bytes exactly, but not
 * every integer of 7 bytes. 6 bytes suffice, because they have more values than any book has units.
 */
const RANK_BYTES = 6;

/**
 * Ranks of units. The rank of a unit is a hash of its text. A rank is computed on first use, and only once for equal
 * units.
 */
export class UnitHashes {
  readonly #texts: (index: number) => string;
  readonly #count: number;
  readonly #ranks: Float64Array;
  readonly #known = new Map<string, number>();

  constructor(count: number, texts: (index: number) => string) {
    this.#count = count;
    this.#texts = texts;
    this.#ranks = new Float64Array(count).fill(-1);
  }

  /** Compares two units. Returns 0 only if they and the three units after each of them are equal. */
  compare(a: number, b: number): number {
    for (let ahead = 0; ahead < LOOK_AHEAD; ahead += 1) {
      const difference = this.#rank(a + ahead) - this.#rank(b + ahead);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  #rank(index: number): number {
    if (index >= this.#count) return -1;
    const cachedRank = this.#ranks[index] ?? -1;
    if (cachedRank >= 0) return cachedRank;
    const text = this.#texts(index);
    let rank = this.#known.get(text);
    if (rank === undefined) {
      rank = hash("sha256", text, "buffer").readUIntBE(0, RANK_BYTES);
      this.#known.set(text, rank);
    }
    this.#ranks[index] = rank;
    return rank;
  }
}
