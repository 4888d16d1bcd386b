/** Marks lines of plain text that are headings by their markup, until they become blocks. */

/** A control character, which the normalisation has removed from every text. */
const MARK = "\x01";

/** Marks a heading as a paragraph of its own. */
export const headingLine = (level: number, words: string): string => `\n\n${MARK}${level}${words}\n\n`;

/** Returns the heading in a marked paragraph, or `null`. */
export function headingOf(paragraph: string): { readonly level: number; readonly text: string } | null {
  const text = paragraph.trim();
  return text.startsWith(MARK) ? { level: Number(text.charAt(1)), text: text.slice(2) } : null;
}

const WIKI = /^(={2,5}) *([^=\n]{1,100}?) *\1$/;
/** Texinfo underlines chapters with stars. */
const UNDERLINE = /^(\*|=|-|~){3,}$/;
const MIN_UNDERLINED = 2;
const SLACK_CODE_UNITS = 3;

/**
 * Finds headings in plain text that are underlined, or between `==`. Evidence: form (the line below is about as long,
 * a blank line stands above) and sequence, at least two in a text.
 *
 * @param text with `\n` for line ends
 */
export function markUnderlined(text: string): string {
  if (!/^ *(?:={2}|-{3}|~{3}|\*{3})/m.test(text)) return text;
  const lines = text.split("\n").map((line) => line.trimEnd());
  const belowStars = lines.some((line) => /^\*{3,}$/.test(line)) ? 1 : 0;
  const found = lines.map((line, at) => {
    const wiki = WIKI.exec(line)?.[1]?.length;
    if (wiki !== undefined) return wiki;
    const mark = UNDERLINE.exec(lines[at + 1] ?? "")?.[1];
    const isAlone = at === 0 || lines[at - 1] === "";
    const isAsLong = Math.abs(line.length - (lines[at + 1] ?? "").length) <= SLACK_CODE_UNITS;
    if (mark === undefined || !isAlone || !isAsLong || !/^[\p{L}\p{N}]/u.test(line)) return 0;
    return mark === "*" ? 1 : (mark === "=" ? 1 : 2) + belowStars;
  });
  if (found.filter((level) => level > 0).length < MIN_UNDERLINED) return text;
  return lines
    .map((line, at) => {
      const level = found[at] ?? 0;
      if (level > 0) return headingLine(level, WIKI.exec(line)?.[2] ?? line);
      return (found[at - 1] ?? 0) > 0 && UNDERLINE.test(line) ? "" : line;
    })
    .join("\n");
}
