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
const ENVELOPE_LINE = /^From \S+@\S+ .*\d{4}\s*$/;
const CONTINUATION_LINE = /^[ \t]+\S/;
const MIN_TECHNICAL_FIELDS = 2;
/** Matches the marks of a quotation, with the initials of the person who is quoted. */
const QUOTE_MARKS = /^[ \t]*(?:[A-Z]{0,3}>[ \t]?)+/gm;

/**
 * Removes the headers of mails, but keeps sender, date and subject as paragraphs. If it finds headers, also removes the
 * marks of quotations.
 *
 * @param text with `\n` for line ends
 */
export function withoutMailHeaders(text: string, unspoken: UnspokenList): string {
  if (!/^(?:message-id|received|return-path|mime-version):/im.test(text)) return text;
  const lines = text.split("\n");
  const keptLines: string[] = [];
  let isMail = false;
  for (let lineIndex = 0; lineIndex < lines.length; ) {
    const mayBeginHeader = lineIndex === 0 || (lines[lineIndex - 1] ?? "").trim() === "";
    const end = mayBeginHeader ? endOfHeader(lines, lineIndex) : lineIndex;
    if (end === lineIndex) {
      keptLines.push(lines[lineIndex] ?? "");
      lineIndex += 1;
      continue;
    }
    isMail = true;
    keptLines.push("", ...buildSpokenHeader(lines.slice(lineIndex, end), unspoken), "");
    lineIndex = end;
  }
  const words = keptLines.join("\n");
  return isMail ? words.replace(QUOTE_MARKS, "") : text;
}

/** Returns the index of the line after the header that begins at `from`; `from` if no header begins there. */
function endOfHeader(lines: readonly string[], from: number): number {
  let lineIndex = ENVELOPE_LINE.test(lines[from] ?? "") ? from + 1 : from;
  const first = lineIndex;
  let technical = 0;
  for (; lineIndex < lines.length; lineIndex += 1) {
    const line = lines[lineIndex] ?? "";
    const [, name] = HEADER_NAME.exec(line) ?? [];
    if (name !== undefined && TECHNICAL_FIELD.test(name)) technical += 1;
    if (name === undefined && !(lineIndex > first && CONTINUATION_LINE.test(line))) break;
  }
  return technical >= MIN_TECHNICAL_FIELDS ? lineIndex : from;
}

/** Keeps sender, date and subject, each as a paragraph. */
function buildSpokenHeader(lines: readonly string[], unspoken: UnspokenList): string[] {
  const keptLines: string[] = [];
  let isSpoken = false;
  for (const line of lines) {
    const [, name] = HEADER_NAME.exec(line) ?? [];
    if (name !== undefined) isSpoken = SPOKEN_FIELD.test(name);
    else if (ENVELOPE_LINE.test(line)) isSpoken = false;
    if (isSpoken) keptLines.push(...(name === undefined ? [] : [""]), line.trim());
    else unspoken.add("mail_header", line.trim());
  }
  return keptLines;
}
