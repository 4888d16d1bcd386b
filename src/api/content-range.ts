/** Owns the arithmetic of `Content-Range` and `Content-Length` (contract 4.3); knows no socket. */

export interface ContentRange {
  readonly firstByte: number;
  readonly lastByte: number;
  readonly totalBytes: number | null;
}

function readInteger(text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,15}$/.test(text)) return null;
  return Number(text);
}

/** A `Content-Length` in bytes; `null` when absent or not a plain number. */
export function parseContentLength(header: string | undefined): number | null {
  return readInteger(header?.trim());
}

/** `bytes 0-99/200` or `bytes 0-99/*`; `null` for anything else, also for a range that contradicts itself. */
export function parseContentRange(header: string | undefined): ContentRange | null {
  const match = /^bytes[ \t]+(\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/i.exec(header?.trim() ?? "");
  const firstByte = readInteger(match?.[1]);
  const lastByte = readInteger(match?.[2]);
  if (firstByte === null || lastByte === null || lastByte < firstByte) return null;
  const totalBytes = readInteger(match?.[3]);
  return totalBytes !== null && lastByte >= totalBytes ? null : { firstByte, lastByte, totalBytes };
}

/** The size that a 416 states: `bytes * /200` without the blank; `null` when it states none. */
export function parseUnsatisfiedRange(header: string | undefined): number | null {
  return readInteger(/^bytes[ \t]+\*\/(\d{1,15})$/i.exec(header?.trim() ?? "")?.[1]);
}
