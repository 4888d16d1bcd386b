/** Finds the one part that a quote is of. */
import { firstCodePoints } from "../../contract/unicode.ts";
import { AudioError } from "../../errors.ts";

const SHOWN_CODE_POINTS = 60;

/** As people quote: however the spaces stand, and whichever way an accent is written. */
const asQuoted = (text: string): string => text.normalize("NFC").replaceAll(/\s+/g, " ").trim();

const shown = (text: string): string => JSON.stringify(firstCodePoints(asQuoted(text), SHOWN_CODE_POINTS));

/**
 * The index of the part that holds a quote.
 *
 * @throws AudioError `invalid_request` where no part holds it, or several do
 */
export function findPartByQuote(parts: ReadonlyArray<{ readonly text: string }>, quote: string): number {
  const wanted = asQuoted(quote);
  const found =
    wanted === "" ? [] : parts.flatMap(({ text }, index) => (asQuoted(text).includes(wanted) ? [index] : []));
  const [first, second] = found;
  if (first === undefined) {
    throw new AudioError(
      "invalid_request",
      `retakes: no part holds the quote ${shown(quote)}. Nothing was sent.`,
      {
        remedy: "Quote some words exactly as they stand in the text, within one paragraph.",
      },
    );
  }
  if (second === undefined) return first;
  const excerpts = found
    .slice(0, 3)
    .map((index) => shown(parts[index]?.text ?? ""))
    .join(", ");
  throw new AudioError(
    "invalid_request",
    `retakes: ${found.length} parts hold the quote ${shown(quote)}: ${excerpts}. Nothing was sent.`,
    { remedy: "Quote more words, so that exactly one part matches." },
  );
}
