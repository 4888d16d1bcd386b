/**
 * Marks the headings that a plain text shows by signs, such as `== Title ==` or an underline. The marks stay until the
 * text is divided into blocks.
 */

/**
 * The first character of a marked paragraph. No text contains this character, because normalisation removes control
 * characters.
 */
const HEADING_SENTINEL = "\x01";

/** Returns a heading as a marked paragraph of its own. */
export const markHeadingLine = (level: number, words: string): string =>
  `\n\n${HEADING_SENTINEL}${level}${words}\n\n`;

/** Returns the heading in a marked paragraph; `null` for any other paragraph. */
export function parseSourceHeading(
  paragraph: string,
): { readonly level: number; readonly text: string } | null {
  const text = paragraph.trim();
  return text.startsWith(HEADING_SENTINEL) ? { level: Number(text.charAt(1)), text: text.slice(2) } : null;
}

const WIKI_HEADING = /^(={2,5}) *([^=\n]{1,100}?) *\1$/;
/** Matches the line below an underlined heading. Texinfo underlines chapters with stars. */
const UNDERLINE = /^(\*|=|-|~){3,}$/;
const MIN_UNDERLINED = 2;
const SLACK_CODE_UNITS = 3;

/**
 * Marks underlined headings, and headings such as `== Title ==`, in a plain text. Evidence: form and sequence. An
 * underlined heading has a blank line above it, and the underline is about as long as the heading. The text must have
 * at least two headings.
 *
 * @param text with `\n` for line ends
 */
export function markUnderlined(text: string): string {
  if (!/^ *(?:={2}|-{3}|~{3}|\*{3})/m.test(text)) return text;
  const lines = text.split("\n").map((line) => line.trimEnd());
  const belowStars = lines.some((line) => /^\*{3,}$/.test(line)) ? 1 : 0;
  const found = lines.map((line, lineIndex) => {
    const wiki = WIKI_HEADING.exec(line)?.[1]?.length;
    if (wiki !== undefined) return wiki;
    const mark = UNDERLINE.exec(lines[lineIndex + 1] ?? "")?.[1];
    const isAlone = lineIndex === 0 || lines[lineIndex - 1] === "";
    const isAsLong = Math.abs(line.length - (lines[lineIndex + 1] ?? "").length) <= SLACK_CODE_UNITS;
    if (mark === undefined || !isAlone || !isAsLong || !/^[\p{L}\p{N}]/u.test(line)) return 0;
    return mark === "*" ? 1 : (mark === "=" ? 1 : 2) + belowStars;
  });
  if (found.filter((level) => level > 0).length < MIN_UNDERLINED) return text;
  return lines
    .map((line, lineIndex) => {
      const level = found[lineIndex] ?? 0;
      if (level > 0) return markHeadingLine(level, WIKI_HEADING.exec(line)?.[2] ?? line);
      return (found[lineIndex - 1] ?? 0) > 0 && UNDERLINE.test(line) ? "" : line;
    })
    .join("\n");
}
