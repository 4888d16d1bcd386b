/** Parses a Range header (docs/contract.md, Download). */

/** The bytes from `start` to `end`, both included. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Resolves a Range header to bytes of a file.
 *
 * - Accepts a single range (`bytes=0-99`, `bytes=100-`) and a suffix (`bytes=-100`).
 * - Several ranges, a range that begins past the end of the file, and `bytes=-0` are unsatisfiable.
 * - A malformed range is unsatisfiable, because the contract answers 416. Plain HTTP would ignore the range.
 * - A range in a unit other than bytes is ignored, as HTTP requires.
 *
 * @param sizeBytes length of the file, greater than 0
 * @returns the range, `"whole"` if no range applies, or `"unsatisfiable"`
 */
export function parseByteRange(
  header: string | undefined,
  sizeBytes: number,
): ByteRange | "whole" | "unsatisfiable" {
  if (header === undefined) return "whole";
  const unit = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=/.exec(header)?.[1];
  if (unit !== undefined && unit.toLowerCase() !== "bytes") return "whole";
  const bounds = /^\s*bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header);
  if (bounds === null) return "unsatisfiable";
  const [, first = "", last = ""] = bounds;
  const lastByte = sizeBytes - 1;
  if (first === "") {
    const suffixBytes = last === "" ? 0 : Number(last);
    return suffixBytes === 0
      ? "unsatisfiable"
      : { start: Math.max(0, sizeBytes - suffixBytes), end: lastByte };
  }
  const start = Number(first);
  const end = last === "" ? lastByte : Math.min(Number(last), lastByte);
  return start > lastByte || end < start ? "unsatisfiable" : { start, end };
}
