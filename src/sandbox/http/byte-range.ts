/** Reads a Range header (docs/contract.md, Download). */

/** Bytes `start` to `end`, both included. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Reads a Range header against a size.
 *
 * A single range (`bytes=0-99`, `bytes=100-`) and a suffix (`bytes=-100`) are served. Several ranges, a range
 * that begins past the end, `bytes=-0` and anything malformed are unsatisfiable (416 in the contract, where
 * plain HTTP would ignore the malformed ones). A unit other than bytes is ignored, as HTTP has it.
 *
 * @param sizeBytes length of the whole, greater than 0
 * @returns the range, `"whole"` when there is nothing to obey, or `"unsatisfiable"`
 */
export function readByteRange(
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
