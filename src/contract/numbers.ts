/** Parses, bounds and formats numbers as people write them. */
import { z } from "zod";

/**
 * Formats 2048 as `2,048`. Does not use `toLocaleString`, because its language data takes 4 MiB, and its first call
 * takes 10 ms.
 */
export const formatThousands = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");

/** Parses a number. Returns null for other text, even `0x10`, `1e3` and `Infinity`, which are likely mistakes. */
export const parseDecimal = (text: string): number | null =>
  /^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(text.trim()) ? Number(text) : null;

export const roundToMilliseconds = (seconds: number): number => Math.round(seconds * 1000) / 1000;

/**
 * Builds the schema of a number from `minimum` to `maximum`, both included. Its error message always names both bounds.
 */
export function boundedNumberSchema(minimum: number, maximum: number) {
  const rule = `must be a number from ${minimum} to ${maximum}`;
  return z.number(rule).min(minimum, rule).max(maximum, rule);
}

/**
 * Builds the schema of a whole number from `minimum` to `maximum`, both included. Its error message always names both
 * bounds.
 */
export function boundedIntegerSchema(minimum: number, maximum: number) {
  const shownMaximum = maximum < 10_000 ? maximum : formatThousands(maximum);
  const rule = `must be a whole number from ${minimum} to ${shownMaximum}`;
  return z.int(rule).min(minimum, rule).max(maximum, rule);
}
