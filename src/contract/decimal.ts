/** Parses numbers as people write them, digits with at most one point, and rounds seconds for people. */

/** Parses a number. Returns null for other text, even `0x10`, `1e3` and `Infinity`, which are likely mistakes. */
export const parseDecimal = (text: string): number | null =>
  /^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(text.trim()) ? Number(text) : null;

export const roundToMilliseconds = (seconds: number): number => Math.round(seconds * 1000) / 1000;
