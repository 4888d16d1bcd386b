/**
 * Decides whether a text is written in Markdown. Evidence: form. One mark that plain text does not use suffices.
 * Without any such mark, the text is read as plain text, in which indentation and line breaks have other meanings.
 */
import { isHtmlElement } from "./html-elements.ts";

/**
 * Signs of Markdown. Every pattern takes linear time, for two reasons. A pattern can match a text in one way only. A
 * pattern without `\n` matches within one line.
 */
const MARKDOWN_SIGNS: readonly RegExp[] = [
  /^ {0,3}#{1,6} +\S/m,
  /^ {0,3}(?:`{3}|~{3})/m,
  /^(?:---|\+\+\+)[ \t]*\n[\w"'.-]+[ \t]*[:=[]/,
  // Links, images, footnotes, references.
  /\]\([^)\s]|!\[|\[\^|\[\[|\]\[/,
  /^ {0,3}\[[^\]\n]{1,200}\]:[ \t]*\S/m,
  // Emphasis, except `_this_`, which plain text uses too.
  /\*\*[^\s*]|(?<![\w*])\*[^\s*][^*\n]{0,200}\*(?![\w*])|__[^\s_]|~~[^\s~]/,
  // Inline code, but not quotations in old texts, which begin with a backtick and end with an apostrophe.
  /`[^`'\n]{1,200}`/,
  // Lists and quotations, but not page numbers (- 12 -), rules (* * *) and centred lines (> THE END <).
  /^ {0,3}[-*+] +(?![-*+\s]|\d+ +[-–]\s*$)\S/m,
  /^ {0,3}\d{1,9}[.)] +\S.*\n {0,3}\d{1,9}[.)] +\S/m,
  /^ {0,3}>(?!.*<[ \t]*$) ?\S/m,
  // Underlined headings, tables and rules.
  /(?:^|\n[ \t]*\n)\S[^\n]{0,100}\n {0,3}(?:={3,}|-{3,})[ \t]*(?:\n|$)/,
  /^ {0,3}\|?[ :]*-[-: ]*\|[-|: ]*$/m,
  /^ {0,3}(?:-[ \t]*){3,}$/m,
  // Hard line breaks: two spaces or a backslash at the end of a line.
  /\S(?: {2,}|\\)\n[^\n]/,
  /\\[*_#`[\]>]|&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,8}\d?);|<https?:/i,
  // Templates, formulas, containers, LaTeX commands, and marks of pandoc, MkDocs and Obsidian.
  /\{\{|\{%|\{\/\*|\$\$|^:::|\\[a-z]{2,20}\*?\{|\]\{[#.]|\^\[|%%[^%\n]+%%|(?<![=\w])==[^\s=][^=\n]{0,200}==|^(?:!!!|\?\?\?\+?) +\w/im,
];

const FIRST_ITEM = /^ {0,3}1[.)] +\S/m;
const SECOND_ITEM = /^ {0,3}2[.)] +\S/m;
const HTML_TAG = /<\/?([a-z][a-z0-9-]{0,20})(?:\s[^<>]{0,500})?\/?>|<!--/gi;

function hasTags(text: string): boolean {
  if (!text.includes("<")) return false;
  for (const [, name] of text.matchAll(HTML_TAG)) if (name === undefined || isHtmlElement(name)) return true;
  return false;
}

/**
 * Whether a text contains a mark that only Markdown has.
 *
 * @param text with `\n` for line ends
 */
export function hasMarkdown(text: string): boolean {
  return (
    MARKDOWN_SIGNS.some((sign) => sign.test(text)) ||
    (FIRST_ITEM.test(text) && SECOND_ITEM.test(text)) ||
    hasTags(text)
  );
}
