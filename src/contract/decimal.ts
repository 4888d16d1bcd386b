/** Parses a number as people write it: digits with at most one point. Refuses `0x10`, `1e3` and `Infinity`, which are typing errors where credits are meant. */

/** Returns `null` if the text is no such number. */
export const decimalIn = (text: string): number | null =>
  /^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(text.trim()) ? Number(text) : null;
