/** Finds where sentences end, by own rules: those that come with Node change with its build, and a boundary must not. */
import { isAbbreviation } from "./abbreviations.ts";
import { CLOSERS, characterAt, characterBefore, hasWords, isCjk, OPENERS } from "./characters.ts";

/** `. . .` is one mark, with or without others before it. */
const END = new RegExp(`([.!?…。！？．｡]+(?:[ \\u00a0]\\.+(?![\\p{L}\\p{N}]))*)([${CLOSERS}]*)`, "gu");
const SPACE_AND_OPENERS = new RegExp(`[\\s${OPENERS}]*`, "y");
const CJK_TERMINATOR = /[。！？．｡]/;
const CJK_OPENER = /[“‘「『（【《〈]/;
const HIRAGANA = /[\u3041-\u309f]/;

/** A run of terminators and what closes after it. */
interface End {
  readonly run: string;
  readonly closers: string;
  /** Where the run begins. */
  readonly at: number;
  /** Behind the closers. */
  readonly after: number;
}

/** `「…。」と言った`: the quotation has ended, the sentence goes on. */
const goesOn = (closers: string, next: string): boolean => closers !== "" && HIRAGANA.test(next);

function endsSentence(text: string, { run, closers, at, after }: End): boolean {
  const next = characterAt(text, after);
  if (CJK_TERMINATOR.test(run)) return !goesOn(closers, next);
  const isAmongCjk = isCjk(next) || isCjk(characterBefore(text, at));
  // A lone ellipsis is a pause there, unless somebody else begins to speak.
  if (/^…+$/.test(run) && isAmongCjk) {
    return closers === "" ? CJK_OPENER.test(next) : !goesOn(closers, next);
  }
  const hasSpace = /\s/.test(next);
  if (!hasSpace && !isCjk(next)) return false;
  SPACE_AND_OPENERS.lastIndex = after;
  SPACE_AND_OPENERS.test(text);
  const first = characterAt(text, SPACE_AND_OPENERS.lastIndex);
  if (/\p{Ll}/u.test(first) || goesOn(closers, next)) return false;
  if (run === "." && !/[”’"'»]/.test(closers)) return !isAbbreviation(text, at, first);
  return true;
}

/**
 * Where the sentences of one paragraph begin, but for the first; a line that was broken on purpose ends one.
 *
 * @returns indexes, ascending
 */
export function sentenceStarts(text: string): number[] {
  const starts: number[] = [];
  const lines = text.split("\n");
  let offset = 0;
  for (const line of lines) {
    if (offset > 0 && line !== "") starts.push(offset);
    const first = starts.length;
    for (const match of line.matchAll(END)) {
      const [all, run = "", closers = ""] = match;
      const after = match.index + all.length;
      if (after >= line.trimEnd().length) break;
      if (!endsSentence(line, { run, closers, at: match.index, after })) continue;
      const start = after + (/^\s*/.exec(line.slice(after))?.[0].length ?? 0);
      const begun = starts.length > first ? (starts.at(-1) ?? 0) - offset : 0;
      // Text without a word is no sentence; it stays with the text behind it.
      if (hasWords(line.slice(begun, start))) starts.push(offset + start);
    }
    offset += line.length + 1;
  }
  return starts;
}

/** The sentences of a part's text in their order, each as it is spoken: what captions are made of. */
export function sentencesOf(text: string): string[] {
  const starts = sentenceStarts(text);
  return [0, ...starts]
    .map((start, index) => text.slice(start, starts[index]).trim())
    .filter((sentence) => sentence !== "");
}
