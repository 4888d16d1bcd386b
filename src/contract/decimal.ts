/** Parses numbers as people write them: digits with at most one point. */

/** Parses a number. Returns null for other text, even `0x10`, `1e3` and `Infinity`, which are likely mistakes. */
export const parseDecimal = (text: string): number | null =>
  /^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(text.trim()) ? Number(text) : null;
