/**
 * Removes marks that listeners do not want: note numbers, pages, time codes, illustrations, sounds, notes of the
 * transcriber, footnotes in brackets, keywords of a version control system, and transitions of film scripts.
 * Evidence: form. A note mark must also follow a word, and the numbers of note marks must rise.
 */
import type { SourceBlock, UnspokenList } from "../blocks.ts";
import { HARD_BREAK } from "../normalize.ts";
import { isSequence } from "../number-sequence.ts";
import { withoutLineNumbers } from "./line-numbers.ts";
import { withoutReadings } from "./readings.ts";
import { withoutTranscriptTimes } from "./transcript-times.ts";

/**
 * Matches words for music. `(music)` in parentheses is removed only if it is alone on its line. Elsewhere, it is kept,
 * because it may belong to the sentence.
 */
const MUSIC_WORDS = "(?:(?:soft |upbeat |dramatic |theme )?music(?: playing| fades)?|música|musik|音乐|音楽)";
/** The blanks at an edge of a line. A pattern that crossed lines would take quadratic time for blank lines. */
const BLANKS = `[^\\S\\n${HARD_BREAK}]*`;
/** What stands in brackets and is not spoken. Longer kinds come first. */
const BRACKETED_MARKS = (
  [
    [
      "illustration",
      "\\[(?:Illustrations?|Ilustraci[oó]n|Ilustra[çc][aã]o|Ilustrasi|Abbildung|Frontispiece|Decoration|Blank Page)(?:[:.][^[\\]]{0,1000})?\\]",
    ],
    ["page_mark", "[[{](?:Pg|Page|Pág|P[aá]gina|Halaman)\\.? ?\\d{1,5}[\\]}]"],
    [
      "time_code",
      "\\[\\d{1,2}:\\d{2}(?::\\d{2})?(?:[.,]\\d{1,3})?(?: ?(?:-->|[–—-]) ?\\d{1,2}(?::\\d{2}){1,2}(?:[.,]\\d{1,3})?)?\\]",
    ],
    [
      "sound",
      `[[【［]${MUSIC_WORDS}[\\]】］]|^${BLANKS}\\(${MUSIC_WORDS}\\)${BLANKS}$|[[(【［](?:applause|laughter|laughs|cheering|inaudible|crosstalk|silence|unintelligible|indistinct|background noise|aplausos|risas|risos|tepuk tangan|tawa|掌声|笑声|拍手|笑い|笑)(?: \\d{1,2}:\\d{2}(?::\\d{2})?(?:[.,]\\d{1,3})?)?[\\])】］]`,
    ],
    ["note", `^${BLANKS}\\[(?:Transcriber[’']?s[’']? Notes?|Editor[’']s Note):[^[\\]]{0,2000}\\]${BLANKS}$`],
    ["footnote", `^${BLANKS}\\[Footnote(?: [\\w*]{1,4})?:[^[\\]]{0,4000}\\]${BLANKS}$`],
  ] as const
).map(([kind, form]) => [kind, new RegExp(form, "gimu")] as const);
/** A note that spans paragraphs. */
const LONG_NOTE = new RegExp(
  `^${BLANKS}\\[Transcriber[’']?s[’']? Notes?:[^[\\]]{0,4000}\\]${BLANKS}$`,
  "gim",
);

/** Removes notes that span several paragraphs. Must be called before the text is divided into paragraphs. */
export const withoutLongNotes = (text: string, unspoken: UnspokenList): string =>
  text.includes("[") ? unspoken.drop("note", text, LONG_NOTE) : text;

/** Matches a note mark: `[1]` directly after a word or its punctuation, or `^[1]` anywhere, even before a word. */
const REFERENCE_MARK =
  /(?:(?<=[\p{L}\p{P}])\^?|\^)(?:\[(\d{1,3})\]|\{(\d{1,3})\}|\[([A-Za-z])\])(?:(?![\w([=.])|(?<=\^\[\d{1,3}\])(?!\())/gu;
/**
 * Matches keywords of RCS, CVS and Subversion, such as `$Id: README,v 1.2 $`. Prices and variables do not match,
 * because they have no second dollar sign.
 */
const VERSION_CONTROL_KEYWORD =
  /\$(?:[A-Z][A-Za-z\d]{1,20}: [^$\n]{0,200} |(?:Author|Date|Header|Id|LastChangedDate|Log|Rev|Revision|Source):?(?=\$\s*$))\$(?![\w$({])/gm;

const TRANSITION_LINE =
  /^(?:> *)?(?:FADE (?:IN|OUT|TO BLACK)|(?:SMASH |MATCH |JUMP )?CUT TO(?: BLACK)?|DISSOLVE TO|WIPE TO)[:.]?(?: *<)?$/;
const CENTRED_LINE = /^> *[^<>\n]{1,60} *<$/;

function withoutForms(text: string, unspoken: UnspokenList): string {
  if (!/[[{(【［$]/.test(text)) return text;
  return BRACKETED_MARKS.reduce(
    (words, [kind, form]) => unspoken.drop(kind, words, form),
    unspoken.drop("template", text, VERSION_CONTROL_KEYWORD),
  );
}

const parseMarkNumber = (match: RegExpMatchArray): number =>
  Number(match[1] ?? match[2] ?? ((match[3] ?? "A").toUpperCase().codePointAt(0) ?? 65) - 64);

/**
 * Whether marks of one form are numbers of notes: the first is 1, 2 or 3, and most of the others rise or restart at 1.
 */
function areNoteNumbers(values: readonly number[]): boolean {
  const [first = 0] = values;
  if (first < 1 || first > 3) return false;
  return isSequence(values, { restarts: (value) => value === 1, maxStep: 3 });
}

function withoutReferences(paragraphs: readonly string[], unspoken: UnspokenList): string[] {
  const formOf = (mark: string): string =>
    mark.replace(/\d+/, "1").replace(/[A-Z]/, "A").replace(/[a-z]/, "a");
  const marks = paragraphs.flatMap((text) => (/[\]}]/.test(text) ? [...text.matchAll(REFERENCE_MARK)] : []));
  const forms = Map.groupBy(marks, ([mark]) => formOf(mark));
  const counting = new Set(
    [...forms].flatMap(([form, ofForm]) => (areNoteNumbers(ofForm.map(parseMarkNumber)) ? [form] : [])),
  );
  if (counting.size === 0) return [...paragraphs];
  return paragraphs.map((text) =>
    unspoken.drop("reference", text, REFERENCE_MARK, (mark) => counting.has(formOf(mark))),
  );
}

/**
 * Removes marks that listeners do not want, such as note numbers and time codes, from paragraphs.
 *
 * @returns the same number of paragraphs, some of them empty
 */
export function withoutMarks(paragraphs: readonly string[], unspoken: UnspokenList): string[] {
  const withoutBracketed = paragraphs.map((text) => {
    const line = text.trim().replace(/^\*{1,3}|\*{1,3}$/g, "");
    if (line.length > 80 || !(TRANSITION_LINE.test(line) || CENTRED_LINE.test(line)))
      return withoutForms(withoutReadings(text, unspoken), unspoken);
    unspoken.add("script_mark", line);
    return "";
  });
  return withoutReferences(withoutTranscriptTimes(withoutBracketed, unspoken), unspoken);
}

/** Removes marks such as note numbers, page numbers and `[Illustration]` from the paragraphs. */
export function withoutInlineMarks(blocks: readonly SourceBlock[], unspoken: UnspokenList): SourceBlock[] {
  const paragraphs = blocks.map((block) => (block.kind === "paragraph" ? block.text : ""));
  const texts = withoutMarks(withoutLineNumbers(paragraphs, HARD_BREAK, unspoken), unspoken);
  return blocks.flatMap((block, index): SourceBlock[] => {
    if (block.kind !== "paragraph") return [block];
    const words = texts[index] ?? "";
    return /\S/.test(words) ? [{ kind: "paragraph", text: words }] : [];
  });
}
