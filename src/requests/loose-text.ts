/**
 * Compares texts that a model may have retyped: without quotation marks, blanks, case and Unicode form. Only compares;
 * what is sent stays as it was given.
 */
import { createHash } from "node:crypto";
import { z } from "zod";

const QUOTATION_MARKS = /["'`´“”„‟«»‘’‚‛‹›「」『』]/gu;

/** Folds quotation marks, blanks and Unicode form, but not case. */
const foldTyping = (text: string): string =>
  text.normalize("NFKC").replace(QUOTATION_MARKS, "").replace(/\s+/gu, " ").trim();

const bodySchema = z.looseObject({ prompt: z.string() });

/**
 * Derives the hash by which a retyped request is recognised. Settings and take count as they are.
 *
 * @param body canonical input
 * @param writtenPrompt the text as the user wrote it, before pronunciations
 */
export function deriveLooseFingerprint(
  baseUrl: string,
  body: string,
  writtenPrompt: string,
  take: number,
): string {
  const { prompt: _, ...settings } = bodySchema.parse(JSON.parse(body));
  const facts = [baseUrl, foldTyping(writtenPrompt).toLowerCase(), settings, take];
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 32);
}

/** How two texts of one loose fingerprint differ. `typing`: in quotation marks, blanks or Unicode form alone. */
export type TextDifference = "none" | "typing" | "case";

export function compareTexts(one: string, other: string): TextDifference {
  if (one === other) return "none";
  return foldTyping(one) === foldTyping(other) ? "typing" : "case";
}
