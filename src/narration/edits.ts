/** Changes single passages of a planned text, so that only the parts that contain them are made anew. */
import { PROMPT_MAX_CODE_POINTS } from "../contract/service-limits.ts";
import { codePointLength } from "../contract/unicode.ts";
import { AudioError } from "../errors.ts";
import type { Pronunciation } from "../pronunciation.ts";
import type { StoredPart, StoredPlan } from "./narration-state.ts";
import { excerptOf } from "./plan/blocks.ts";
import { hasWords } from "./plan/characters.ts";
import { split } from "./plan/split.ts";
import { PARAGRAPH_JOINT } from "./plan/units.ts";
import { spokenPart } from "./spoken-part.ts";

export interface Edit {
  /** Words that occur exactly once in the narration. */
  readonly quote: string;
  /** Empty to delete the words. */
  readonly replacement: string;
}

/** Groups of equivalent marks, because people type other forms than the text has. */
const SAME_MARKS: readonly string[] = ["'‘’‚′`´", '"“”„«»″', "-‐‑–—−"];

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

/** Matches the quote with any white space, quotation marks and dashes. */
function patternOf(quote: string): RegExp {
  const words = quote.normalize("NFC").trim().split(/\s+/);
  const forms = words.map((word) =>
    Array.from(word, (character) => {
      const marks = SAME_MARKS.find((all) => all.includes(character));
      return marks === undefined ? escaped(character) : `[${escaped(marks)}]`;
    }).join(""),
  );
  return new RegExp(forms.join("\\s+"), "gu");
}

function refuse(quote: string, rule: string): never {
  throw new AudioError(
    "invalid_request",
    `edits: the quote ${JSON.stringify(excerptOf(quote))} ${rule}. Nothing was sent.`,
    {
      remedy:
        "Quote some words in a row that stand once in the text, as they are spoken, without marks of Markdown; more words make a quote unique.",
    },
  );
}

function edited(texts: readonly string[], { quote, replacement }: Edit): string[] {
  if (!hasWords(quote)) refuse(quote, "must hold a letter or a digit");
  const pattern = patternOf(quote);
  const count = texts.reduce((sum, text) => sum + [...text.matchAll(pattern)].length, 0);
  if (count === 0) {
    const isOverAnEnd = pattern.test(texts.join(PARAGRAPH_JOINT));
    refuse(quote, isOverAnEnd ? "goes over the end of a part" : "stands nowhere in this narration");
  }
  if (count > 1) refuse(quote, `stands ${count} times in this narration, and must stand there once`);
  return texts.map((text) => text.replace(pattern, () => replacement));
}

/**
 * Returns the plan with the passages changed. Divides parts that get too long, and drops parts without words. All others
 * stay equal to the byte.
 *
 * @throws AudioError `invalid_request` for a quote that does not occur exactly once, or if nothing is left to speak
 */
export function editedPlan(
  plan: StoredPlan,
  edits: readonly Edit[],
  pronunciations: readonly Pronunciation[],
): StoredPlan {
  const texts = edits.reduce<readonly string[]>(
    edited,
    plan.parts.map(({ text }) => text),
  );
  const parts = plan.parts.flatMap((part, index) => {
    const text = (texts[index] ?? "").trim();
    if (text === part.text) return [part];
    return hasWords(text) ? divided({ ...part, text }, plan, pronunciations) : [];
  });
  if (parts.length === 0) {
    throw new AudioError("invalid_request", "The edits leave nothing to speak. Nothing was sent.");
  }
  return { ...plan, parts };
}

/** Longer parts are divided as the planner divides them. */
const MAX_SECONDS = 90;

function divided(part: StoredPart, plan: StoredPlan, pronunciations: readonly Pronunciation[]): StoredPart[] {
  const { settings, pauseSeconds } = plan;
  const options = { settings, pronunciations };
  const { part: whole } = spokenPart(part, options);
  if (whole.estimatedSeconds <= MAX_SECONDS && codePointLength(part.text) <= PROMPT_MAX_CODE_POINTS) {
    return [whole];
  }
  const speed = part.settings?.speed ?? settings.speed ?? 1;
  const stretches = split(part.text.split(PARAGRAPH_JOINT), speed);
  return stretches.map(({ text, endsParagraph }, at) => {
    const isLast = at === stretches.length - 1;
    const pauseAfterSeconds = isLast ? part.pauseAfterSeconds : endsParagraph ? pauseSeconds : 0;
    const { startSeconds: _, cue: __, ...untimed } = part;
    return spokenPart({ ...(at === 0 ? part : untimed), text, pauseAfterSeconds }, options).part;
  });
}
