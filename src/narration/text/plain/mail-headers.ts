/** Leaves out the headers of mails and the marks of their quotations. Evidence: form. */
import type { UnspokenList } from "../blocks.ts";

/**
 * Matches the names of headers that only programs need. A block of header lines belongs to a mail only if it contains
 * at least two such headers.
 */
const TECHNICAL_FIELD =
  /^(?:return-path|delivered-to|received|message-id|mime-version|content-(?:type|transfer-encoding|disposition)|in-reply-to|references|reply-to|sender|errors-to|precedence|list-[a-z-]+|x-[a-z-]+|dkim-signature|authentication-results|user-agent)$/i;
const SPOKEN_FIELD = /^(?:from|date|subject)$/i;
const HEADER_NAME = /^([A-Za-z][A-Za-z-]{1,40}):(?:\s|$)/;
const ENVELOPE_PATTERN = "From \\S+@\\S+ .*\\d{4}[ \\t]*";
const ENVELOPE_LINE = new RegExp(`^${ENVELOPE_PATTERN}$`);
/** Matches the header lines, each with its continuation, at the beginning of a text or below a blank line. */
const HEADER = new RegExp(
  `(?<=^|\\n[^\\S\\n]*\\n)(?:${ENVELOPE_PATTERN}\\n)?(?:[A-Za-z][A-Za-z-]{1,40}:(?:[^\\S\\n].*)?(?:\\n[ \\t]+\\S.*)*(?:\\n|$))+`,
  "g",
);
const MIN_TECHNICAL_FIELDS = 2;
/** Matches the marks of a quotation, with the initials of the person who is quoted. */
const QUOTE_MARKS = /^[ \t]*(?:[A-Z]{0,3}>[ \t]?)+/gm;

const getFieldName = (line: string): string | undefined => HEADER_NAME.exec(line)?.[1];

/**
 * Removes the headers of mails, but keeps sender, date and subject as paragraphs. If it finds headers, also removes the
 * marks of quotations.
 *
 * @param text with `\n` for line ends
 */
export function withoutMailHeaders(text: string, unspoken: UnspokenList): string {
  if (!/^(?:message-id|received|return-path|mime-version):/im.test(text)) return text;
  let isMail = false;
  const words = text.replace(HEADER, (header) => {
    const lines = header.trimEnd().split("\n");
    const technical = lines.filter((line) => TECHNICAL_FIELD.test(getFieldName(line) ?? ""));
    if (technical.length < MIN_TECHNICAL_FIELDS) return header;
    isMail = true;
    return `\n${buildSpokenHeader(lines, unspoken).join("\n")}\n\n`;
  });
  return isMail ? words.replace(QUOTE_MARKS, "") : text;
}

/** Keeps sender, date and subject, each as a paragraph. */
function buildSpokenHeader(lines: readonly string[], unspoken: UnspokenList): string[] {
  const keptLines: string[] = [];
  let isSpoken = false;
  for (const line of lines) {
    const name = getFieldName(line);
    if (name !== undefined) isSpoken = SPOKEN_FIELD.test(name);
    else if (ENVELOPE_LINE.test(line)) isSpoken = false;
    if (isSpoken) keptLines.push(...(name === undefined ? [] : [""]), line.trim());
    else unspoken.add("mail_header", line.trim());
  }
  return keptLines;
}
