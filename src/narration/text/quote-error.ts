/** Builds the error for a quote that does not identify a passage of the narration. */
import { AudioError } from "../../errors.ts";
import { shortenExcerpt } from "./excerpt.ts";

/** @param rule the broken rule, as the end of a sentence that begins with the quote: "occurs 2 times, …" */
export const quoteError = (
  argument: "edits" | "retakes",
  quote: string,
  rule: string,
  remedy: string,
): AudioError =>
  new AudioError(
    "invalid_request",
    `The quote ${JSON.stringify(shortenExcerpt(quote))} of ${argument === "edits" ? "an edit" : "a retake"} ${rule}. Nothing was sent.`,
    { remedy },
  );
