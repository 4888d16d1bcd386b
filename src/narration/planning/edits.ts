/** Changes single passages of a planned text, so that only the parts with these passages are made again. */
import { MAX_PROMPT_CODE_POINTS } from "../../contract/service-limits.ts";
import { countCodePoints } from "../../contract/unicode.ts";
import { AudioError } from "../../errors.ts";
import type { Pronunciation } from "../../pronunciation.ts";
import { hasWords } from "../text/characters.ts";
import { MAX_PART_SECONDS, splitIntoParts } from "../text/cutting/split.ts";
import { PARAGRAPH_JOINT } from "../text/cutting/units.ts";
import { shortenExcerpt } from "../text/excerpt.ts";
import { parseReplacement } from "../text/plan-text.ts";
import { quoteError } from "../text/quote-error.ts";
import { buildInheritedRemarks } from "./plan-remarks.ts";
import { applyPronunciations } from "./respelled-part.ts";
import { type Remark, type StoredPart, type StoredPlan, toRemarks } from "./stored-plan.ts";

export interface Edit {
  /** Words that occur exactly once in the narration. */
  readonly quote: string;
  /** The new words; empty to delete the quoted words. */
  readonly replacement: string;
}

/**
 * Groups of equivalent punctuation marks. A mark in a quoted passage matches every mark of its group, because people
 * often type another form of the mark than the text has.
 */
const EQUIVALENT_MARKS: readonly string[] = ["'‘’‚′`´", '"“”„«»″', "-‐‑–—−"];

const escapePattern = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

/** Builds a pattern that matches the quote with any form of its white space, quotation marks and dashes. */
function buildQuotePattern(quote: string): RegExp {
  const words = quote.normalize("NFC").trim().split(/\s+/);
  const forms = words.map((word) =>
    Array.from(word, (character) => {
      const marks = EQUIVALENT_MARKS.find((group) => group.includes(character));
      return marks === undefined ? escapePattern(character) : `[${escapePattern(marks)}]`;
    }).join(""),
  );
  return new RegExp(forms.join("\\s+"), "gu");
}

const QUOTE_REMEDY =
  "Quote some consecutive words that occur once in the text, as they are spoken, without Markdown; more words make a quote unique.";

/** Rows of a sheet are changed in the file, because the narration of the changed file shares the other rows. */
const SHEET_REMEDY =
  "Change the row in the file, and call narrate with the file again: only rows that are new are paid for. Or quote consecutive words that occur once in the sheet.";

function refuse(quote: string, rule: string, remedy = QUOTE_REMEDY): never {
  throw quoteError("edits", quote, rule, remedy);
}

/**
 * Maximum lengths of a quote and of a replacement. A longer quote is a mistake. A longer replacement should be narrated
 * as a text of its own: long texts are planned in a worker thread, but edits are not.
 */
const MAX_QUOTE_CODE_UNITS = 2000;
const MAX_REPLACEMENT_CODE_UNITS = 50_000;

function applyEdit(texts: readonly string[], { quote, replacement }: Edit, remedy: string): string[] {
  if (quote.length > MAX_QUOTE_CODE_UNITS) refuse(quote, `is longer than ${MAX_QUOTE_CODE_UNITS} characters`);
  if (replacement.length > MAX_REPLACEMENT_CODE_UNITS) {
    refuse(quote, `has a replacement of more than ${MAX_REPLACEMENT_CODE_UNITS} characters`);
  }
  if (!hasWords(quote)) refuse(quote, "must contain a letter or a digit");
  const pattern = buildQuotePattern(quote);
  const count = texts.reduce((sum, text) => sum + [...text.matchAll(pattern)].length, 0);
  if (count === 0) {
    const crossesPartBoundary = pattern.test(texts.join(PARAGRAPH_JOINT));
    refuse(
      quote,
      crossesPartBoundary ? "extends beyond the end of a part" : "does not occur in this narration",
      remedy,
    );
  }
  if (count > 1) refuse(quote, `occurs ${count} times in this narration, and must occur once`, remedy);
  return texts.map((text) => text.replace(pattern, () => replacement));
}

/**
 * Reads a replacement in the same way as the narration's text. If the narration has rows or cues, returns the
 * replacement unchanged, because rows and cues are spoken as they are written.
 */
function toSpokenReplacement({ quote, replacement }: Edit, plan: StoredPlan): string {
  const isVerbatim =
    plan.fileLayout === "rows" || plan.parts.some(({ startSeconds }) => startSeconds !== undefined);
  if (isVerbatim || replacement.trim() === "") return replacement;
  const words = parseReplacement(replacement.trim());
  const label = /^\s*([^:：\n]{1,40})[:：]/.exec(replacement)?.[1]?.trim().toLowerCase();
  const isLabelled =
    label !== undefined && plan.parts.some(({ speaker }) => speaker?.toLowerCase() === label);
  if (words === null || isLabelled) {
    throw new AudioError(
      "invalid_request",
      `edits: the replacement of ${JSON.stringify(shortenExcerpt(quote))} is more than words: an edit cannot make a heading, a pause, another speaker or code. Nothing was sent.`,
      { remedy: "Give words alone, or narrate the changed text: only the parts that differ are paid for." },
    );
  }
  // Keep the white space at both ends of the replacement. It separates the replacement from the words around it.
  const before = replacement.slice(0, replacement.length - replacement.trimStart().length);
  const after = replacement.slice(replacement.trimEnd().length);
  return before + words + after;
}

/**
 * Renames the chapters whose headings were edited. A heading is spoken as the first paragraph of a part, so an edit can
 * change it.
 */
function updateTitles(plan: StoredPlan, texts: readonly string[]): StoredPlan["chapters"] {
  return plan.chapters.map((chapter, index) => {
    const firstPartIndex = plan.parts.findIndex((part) => part.chapterIndex === index);
    const [before, after] = [plan.parts[firstPartIndex]?.text, texts[firstPartIndex]];
    const [heading = ""] = after?.split(PARAGRAPH_JOINT) ?? [];
    const wasHeading = chapter.title !== null && before?.split(PARAGRAPH_JOINT)[0] === chapter.title;
    return wasHeading && hasWords(heading) ? { ...chapter, title: heading.replaceAll("\n", " ") } : chapter;
  });
}

const BRACKETED_WORDS = /[[(（［][^[\]()（）［］]{1,60}[\])）］]/u;

const EDITS_SHOWN = 3;
const CONTEXT_CODE_UNITS = 20;

/**
 * Shows the new words of an edit with the words around them, so that a wrong quote is noticed before the edit is paid
 * for.
 */
function describeChangedWords(parts: readonly StoredPart[], replacement: string): string[] {
  const words = replacement.trim();
  const text = words === "" ? undefined : parts.find((part) => part.text.includes(words))?.text;
  if (text === undefined) return [];
  const offset = text.indexOf(words);
  const [from, to] = [Math.max(0, offset - CONTEXT_CODE_UNITS), offset + words.length + CONTEXT_CODE_UNITS];
  const shownWords = shortenExcerpt(text.slice(from, to).toWellFormed());
  return [`It says now: ${from === 0 ? "" : "…"}${JSON.stringify(shownWords)}.`];
}

/**
 * Builds the remarks of an edited plan. They show the new words, repeat the earlier remarks that are still true, and
 * report short parts and brackets in replacements.
 */
function updateRemarks(
  remarks: readonly Remark[],
  parts: readonly StoredPart[],
  edits: readonly Edit[],
): Remark[] {
  const brackets = edits.flatMap(({ replacement }) => BRACKETED_WORDS.exec(replacement)?.[0] ?? []);
  return [
    ...toRemarks("edit", [
      ...edits.slice(0, EDITS_SHOWN).flatMap(({ replacement }) => describeChangedWords(parts, replacement)),
      "An edit makes its whole part again.",
    ]),
    ...buildInheritedRemarks(
      remarks.filter(({ about }) => about !== "edit"),
      { parts },
    ),
    ...toRemarks(
      "text",
      brackets.length === 0 ? [] : [`Brackets in a replacement are spoken: ${JSON.stringify(brackets[0])}.`],
    ),
  ];
}

/**
 * Returns the plan with the passages changed. Divides edited parts that get too long, and drops edited parts without
 * words. Parts without an edit keep their text and settings, so that they are not made again.
 *
 * @param speeds the chosen speed of each part, or `null`; an edited part keeps it
 * @throws AudioError `invalid_request` for a quote that does not occur exactly once, or if nothing is left to speak
 */
export function applyEdits(
  plan: StoredPlan,
  edits: readonly Edit[],
  pronunciations: readonly Pronunciation[],
  speeds: ReadonlyArray<number | null> = [],
): StoredPlan {
  const rules = mergeNarrationRules(pronunciations, plan.pronunciations ?? []);
  const remedy = plan.fileLayout === "rows" ? SHEET_REMEDY : QUOTE_REMEDY;
  const texts = edits
    .map((edit) => ({ quote: edit.quote, replacement: toSpokenReplacement(edit, plan) }))
    .reduce<readonly string[]>(
      (before, edit) => applyEdit(before, edit, remedy),
      plan.parts.map(({ text }) => text),
    );
  /** The start time of a dropped part. The next part of the same cue begins at this time. */
  let time: Pick<StoredPart, "startSeconds" | "cue"> = {};
  const parts = plan.parts.flatMap((original, index) => {
    const part = original.startSeconds === undefined ? { ...original, ...time } : original;
    const text = (texts[index] ?? "").trim();
    time = {};
    if (text === part.text) return [part];
    if (hasWords(text)) {
      const speed = speeds[index] ?? null;
      const settings = speed === null ? part.settings : { ...part.settings, speed };
      return divideEditedPart(
        { ...part, ...(settings === undefined ? {} : { settings }), text },
        plan,
        rules,
      );
    }
    if (part.startSeconds !== undefined) time = { startSeconds: part.startSeconds, cue: part.cue };
    return [];
  });
  if (parts.length === 0) {
    throw new AudioError("invalid_request", "The edits leave nothing to speak. Nothing was sent.");
  }
  return {
    ...plan,
    ...(rules.length === 0 ? {} : { pronunciations: rules }),
    chapters: updateTitles(plan, texts),
    parts,
    remarks: updateRemarks(plan.remarks, parts, edits),
  };
}

/**
 * Merges pronunciation rules. The rules of the call take precedence over the rules with which the narration was made.
 */
function mergeNarrationRules(
  call: readonly Pronunciation[],
  earlier: readonly Pronunciation[],
): Pronunciation[] {
  const keyOf = ({ word, language }: Pronunciation): string => JSON.stringify([word, language]);
  const callKeys = new Set(call.map(keyOf));
  return [...call, ...earlier.filter((rule) => !callKeys.has(keyOf(rule)))];
}

function divideEditedPart(
  part: StoredPart,
  plan: StoredPlan,
  pronunciations: readonly Pronunciation[],
): StoredPart[] {
  const { settings, pauseSeconds } = plan;
  const options = { settings, pronunciations };
  const { part: whole } = applyPronunciations(part, options);
  if (whole.estimatedSeconds <= MAX_PART_SECONDS && countCodePoints(part.text) <= MAX_PROMPT_CODE_POINTS) {
    return [whole];
  }
  const speed = part.settings?.speed ?? settings.speed ?? 1;
  const partTexts = splitIntoParts(part.text.split(PARAGRAPH_JOINT), speed);
  return partTexts.map(({ text, endsParagraph }, textIndex) => {
    const isLast = textIndex === partTexts.length - 1;
    const pauseAfterSeconds = isLast ? part.pauseAfterSeconds : endsParagraph ? pauseSeconds : 0;
    const { startSeconds: _, cue: __, ...untimed } = part;
    return applyPronunciations({ ...(textIndex === 0 ? part : untimed), text, pauseAfterSeconds }, options)
      .part;
  });
}
