/** Finds a part by words quoted from it. A quote is needed because the number of a part may change with an edit. */
import { hasWords } from "./characters.ts";
import { flowParagraph, normalizeLines } from "./normalize.ts";
import { quoteError } from "./quote-error.ts";

/** Maximum number of matches that the message about an ambiguous quote shows. */
const SHOWN_MATCHES = 3;
const CONTEXT_CODE_UNITS = 30;
const SHOWN_QUOTE_CODE_UNITS = 60;

/** Normalises line breaks, white space and forms of accents for comparison. */
const normalizeForComparison = (text: string): string =>
  flowParagraph(normalizeLines(text).replace(/[\n\u2028]+/g, "\n"));

/** Marks, each with the form in which people type it. The replacements are applied in this order. */
const TYPED_FORMS: ReadonlyArray<readonly [marks: RegExp, typed: string]> = [
  [/[‘’‚′`´]/g, "'"],
  [/[“”„«»″]/g, '"'],
  [/[‐‑–—−]+|--+/g, "-"],
  [/…/g, "..."],
  [/[*_]/g, ""],
];

/** Writes a text in the way that people type it: straight quotation marks, lower case, no Markdown. */
const normaliseAsTyped = (text: string): string =>
  TYPED_FORMS.reduce((form, [mark, plain]) => form.replace(mark, plain), text).toLowerCase();

const QUOTE_REMEDY =
  "Quote some consecutive words that occur in one part only; more words make a quote unique.";

function refuse(quote: string, rule: string): never {
  throw quoteError("retakes", quote, rule, QUOTE_REMEDY);
}

/** Shows the quote with some words around it. */
function quoteInContext(text: string, quote: string): string {
  const offset = text.indexOf(quote);
  const from = Math.max(0, offset - CONTEXT_CODE_UNITS);
  const excerpt = text.slice(
    from,
    offset + Math.min(quote.length, SHOWN_QUOTE_CODE_UNITS) + CONTEXT_CODE_UNITS,
  );
  return JSON.stringify(excerpt.toWellFormed().replaceAll("\ufffd", ""));
}

/**
 * Returns the index of the part that contains a quote. If several parts with equal text and voice contain it, returns
 * all their indexes, because equal parts share one task. Searches for the exact quote first, then ignores case and the
 * kinds of quotation marks and dashes.
 *
 * @throws AudioError `invalid_request` if the quote has no words, if no part contains it, or if parts with different
 *   text or voice contain it. The message names the broken rule.
 */
export function findPartsByQuote(
  parts: ReadonlyArray<{ readonly text: string; readonly voice?: string | null | undefined }>,
  quote: string,
): number[] {
  const flatQuote = normalizeForComparison(quote);
  if (!hasWords(flatQuote)) refuse(quote, "must contain a letter or a digit");
  const texts = parts.map(({ text }) => normalizeForComparison(text));
  for (const form of [(text: string) => text, normaliseAsTyped]) {
    const forms = texts.map(form);
    const wantedForm = form(flatQuote);
    const matchIndexes = forms.flatMap((text, index) => (text.includes(wantedForm) ? [index] : []));
    if (matchIndexes.length === 0) continue;
    const tasks = new Set(
      matchIndexes.map((index) => JSON.stringify([parts[index]?.text, parts[index]?.voice])),
    );
    if (tasks.size === 1) return matchIndexes;
    const shownMatches = matchIndexes
      .slice(0, SHOWN_MATCHES)
      .map((index) => `part ${index + 1}: ${quoteInContext(forms[index] ?? "", wantedForm)}`);
    refuse(
      quote,
      `occurs in ${matchIndexes.length} different parts, and must occur in one (${shownMatches.join("; ")}${matchIndexes.length > SHOWN_MATCHES ? "; …" : ""})`,
    );
  }
  if (normaliseAsTyped(texts.join(" ")).includes(normaliseAsTyped(flatQuote))) {
    refuse(quote, "extends beyond the end of a part; quote words of the one part that is meant");
  }
  return refuse(quote, "occurs in no part of this narration");
}
