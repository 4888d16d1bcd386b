/**
 * Divides plain text into paragraphs. Evidence: form (blank lines) and share (how many lines end a sentence or
 * are indented).
 */
import { ENDS_SENTENCE } from "../characters.ts";
import { MAX_PARAGRAPH_CODE_UNITS, measureAppendedWidth, measureLineWidth } from "./line-shapes.ts";

/** Matches a line that begins with a full-width space, as paragraphs in Chinese and Japanese do. */
const INDENTED_LINE = /^\u3000/;
/**
 * Matches Chinese and Japanese lines that are indented by spaces. Such lines begin paragraphs only if most of them end
 * a sentence. Otherwise, they may be wrapped lines of an indented block.
 */
const SPACED_LINE = /^ {2,8}[“「『（\u3040-\u30ff\u4e00-\u9fff]/;
const MAY_BE_INDENTED = new RegExp(`${INDENTED_LINE.source}|${SPACED_LINE.source}`, "m");
const SPEECH_LINE = /^[「『（―—]/;
/**
 * Minimum ratio of two counts. The first is the number of lines that are indented, or that begin with a mark of speech
 * such as `「`. The second is the number of lines that end a sentence. With a smaller ratio, neither indentation nor a
 * mark of speech begins a paragraph.
 */
const MIN_INDENTED_SHARE = 0.5;
/**
 * Minimum share of lines that end a sentence in a text with one paragraph per line. With a smaller share, the lines are
 * wrapped.
 */
const MIN_ENDING_SHARE = 0.6;
/**
 * Minimum number of lines in a text with one paragraph per line. Fewer lines without blank lines are one paragraph.
 */
const MIN_LINE_PARAGRAPHS = 3;

/**
 * Matches a possible heading of a manual page: a line without small letters. {@link hasManualHeading} also requires
 * that the lines below are indented deeper, and that the next word would still have fitted on the line of the heading.
 */
const MANUAL_HEADING = /^[^\S\n]*[^\p{Ll}\s:：][^\p{Ll}\n:：]{0,59}$/u;
const MIN_MANUAL_HEADINGS = 3;

/** Whether a paragraph begins with a heading of a manual page, and all its other lines are indented deeper. */
function hasManualHeading(paragraph: string): boolean {
  if (!paragraph.includes("\n") || paragraph.length > MAX_PARAGRAPH_CODE_UNITS) return false;
  const [first = "", ...further] = paragraph.replace(/^\n+/, "").trimEnd().split("\n");
  const depth = first.search(/\S/);
  const [second = ""] = further;
  const widest = further.reduce((max, line) => Math.max(max, measureLineWidth(line)), 0);
  return (
    MANUAL_HEADING.test(first) &&
    further.every((line) => line.search(/\S|$/) > depth + 1) &&
    measureLineWidth(first) + measureAppendedWidth(second.trim()) <= widest
  );
}

/** Separates headings of a manual page from the more deeply indented blocks below the headings. */
function separateManualHeadings(paragraphs: readonly string[]): readonly string[] {
  const headed = new Set(paragraphs.filter(hasManualHeading));
  if (headed.size < MIN_MANUAL_HEADINGS) return paragraphs;
  return paragraphs.flatMap((paragraph) => {
    if (!headed.has(paragraph)) return [paragraph];
    const text = paragraph.replace(/^\n+/, "");
    const end = text.indexOf("\n");
    return [text.slice(0, end), text.slice(end + 1)];
  });
}

/**
 * Turns lines into paragraphs if the text has one paragraph per line. Evidence: share of lines that end a sentence or
 * are indented.
 */
function separateLineParagraphs(text: string): string {
  const hasBlank = /\S[^\S\n]*\n[^\S\n]*\n\s*\S/.test(text);
  if (hasBlank && !MAY_BE_INDENTED.test(text)) return text;
  const lines = text.split("\n");
  const filled = lines.filter((line) => /\S/.test(line));
  const ending = filled.filter((line) => ENDS_SENTENCE.test(line)).length;
  const spaced = filled.filter((line) => SPACED_LINE.test(line));
  const spacedEnding = spaced.filter((line) => ENDS_SENTENCE.test(line)).length;
  const begin =
    spacedEnding > 0 && spacedEnding >= MIN_ENDING_SHARE * spaced.length ? SPACED_LINE : INDENTED_LINE;
  const indented = filled.filter((line) => begin.test(line)).length;
  const speeches = filled.filter((line) => SPEECH_LINE.test(line)).length;
  if (indented > 1 && indented + speeches >= MIN_INDENTED_SHARE * ending) {
    return lines.map((line) => (begin.test(line) || SPEECH_LINE.test(line) ? `\n${line}` : line)).join("\n");
  }
  if (hasBlank || filled.length < MIN_LINE_PARAGRAPHS) return text;
  return ending >= MIN_ENDING_SHARE * filled.length ? filled.join("\n\n") : text;
}

/** Divides a text into paragraphs: at blank lines, or at line ends if the text has one paragraph per line. */
export const splitParagraphs = (text: string): readonly string[] =>
  separateManualHeadings(
    separateLineParagraphs(text)
      .split(/\n\s*\n/)
      .filter((paragraph) => /\S/.test(paragraph)),
  );
