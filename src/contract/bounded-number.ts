/** Builds schemas of numbers between two bounds. Their error messages name both bounds. */
import { z } from "zod";
import { formatThousands } from "./thousands.ts";

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
