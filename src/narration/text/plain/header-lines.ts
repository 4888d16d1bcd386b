/**
 * Reads title and author from the lines above a text: front matter, the title block of pandoc (`% Title`), and lines such
 * as `Title: …`, also the title page of a Fountain script. Evidence: form.
 */
import type { UnspokenList } from "../blocks.ts";
import { hasWords, isBlank } from "../characters.ts";
import { collapseSpaces } from "../normalize.ts";

/** A text without its header, and what the header says. */
export interface HeadedText {
  readonly text: string;
  readonly title: string | null;
  readonly author: string | null;
}

/** Matches YAML or TOML at the beginning. Ordinary text between two thematic breaks does not match. */
const FRONT_MATTER = [
  /^---[ \t]*\n(?:#.*\n)*[\w"'.-]+[ \t]*:[\s\S]*?\n(?:---|\.\.\.)[ \t]*(?:\n|$)/,
  /^\+\+\+[ \t]*\n(?:#.*\n)*(?:[\w"'.-]+[ \t]*=|\[)[\s\S]*?\n\+\+\+[ \t]*(?:\n|$)/,
];

const TITLE_NAMES = "title|título|titulo|judul|标题|標題|书名|書名|题名|題名|タイトル";
const AUTHOR_NAMES = "authors?|autora?|autores|penulis|pengarang|作者|著者";
/** Names of lines that stand in a header, but say neither title nor author. */
const OTHER_NAMES =
  "subtitle|credit|source|draft date|date|contact|copyright|language|translator|editor|illustrator|publisher|release date|series|genre|format|notes|revision|keywords";
const FIELD = new RegExp(
  `^(?:(?<title>${TITLE_NAMES})|(?<author>${AUTHOR_NAMES})|(?:${OTHER_NAMES}))[ \\t]*[:：=](?<value>.*)$`,
  "iu",
);
/** An author that is one entry of several fields: `- name: Ada Writer`. */
const NAME_FIELD = /^\s*(?:-\s+)?(?:name:)?\s*/;
const MAX_HEADER_LINES = 60;
const MAX_VALUE_CODE_UNITS = 400;

/** Removes the brackets of a list, and the marks around a whole value, but not a quotation inside of it. */
const cleanValue = (value: string): string =>
  collapseSpaces(
    value
      .trim()
      .slice(0, MAX_VALUE_CODE_UNITS)
      .replace(/^\[([^[\]]*)\]?,?$|^([^[\]]*)\],?$/, "$1$2")
      .replace(/["']?,\s*["']/g, ", ")
      .replace(/,$/, "")
      .replace(/^[_*]{1,4}([^_*]+)[_*]{1,4}$|^(["'])((?:(?!\2).)+)\2$/, "$1$3"),
  );

/** Reads fields and their values, which may continue on indented lines. */
export function readFields(lines: readonly string[]): Pick<HeadedText, "title" | "author"> {
  const values = { title: [] as string[], author: [] as string[] };
  let open: string[] | null = null;
  for (const line of lines) {
    const { title, author, value = "" } = FIELD.exec(line)?.groups ?? {};
    const isContinued = /^(?:\s|-\s)/.test(line);
    if (title !== undefined) open = values.title;
    else if (author !== undefined) open = values.author;
    else if (!isContinued) open = null;
    const isOther = isContinued && /^\s*(?:-\s+)?(?!name\b)[\w-]+:\s/.test(line);
    const words = isOther ? "" : cleanValue(isContinued ? line.replace(NAME_FIELD, "") : value);
    if (hasWords(words) && !/^[{|>&]/.test(words)) open?.push(words);
  }
  return { title: values.title.join(" ") || null, author: values.author.join(", ") || null };
}

/** Returns the fields at the beginning, with their continuations; empty if text follows directly. */
function readHeaderLines(lines: readonly string[], isField: (line: string) => boolean): readonly string[] {
  let end = 0;
  for (const [index, line] of lines.slice(0, MAX_HEADER_LINES).entries()) {
    const isContinued = /^[ \t]+\S/.test(line) && index === end && end > 0;
    if (isField(line) || isContinued) end = index + 1;
    else if (!isBlank(line)) break;
  }
  return isBlank(lines[end]) ? lines.slice(0, end) : [];
}

/** Returns the lines of a title block of pandoc: title, authors and date, each with `%`. */
function readPercentLines(lines: readonly string[]): readonly string[] {
  if (!/^%[ \t]+[^\p{Ll}\s]/u.test(lines[0] ?? "")) return [];
  const header = readHeaderLines(lines, (line) => line.startsWith("%"));
  return header.filter((line) => line.startsWith("%")).length <= 3 ? header : [];
}

/** Returns the lines `Title: …`, `Author: …` and the like at the beginning. A header has a title. */
function readFieldLines(lines: readonly string[]): readonly string[] {
  const header = readHeaderLines(lines, (line) => FIELD.test(line) && !line.includes("="));
  return header.some((line) => FIELD.exec(line)?.groups?.["title"] !== undefined) ? header : [];
}

/** Removes the header above a text, and returns the title and author that it names. */
export function withoutHeader(text: string, unspoken: UnspokenList): HeadedText {
  const [matter] = FRONT_MATTER.map((form) => form.exec(text)?.[0]).filter((found) => found !== undefined);
  if (matter !== undefined) {
    unspoken.add("front_matter", matter.replace(/^\S+|\S+\s*$/g, ""));
    return { ...readFields(matter.split("\n")), text: text.slice(matter.length) };
  }
  const [indentation = ""] = /^[ \t]*(?=\S)/m.exec(text) ?? [];
  const lines = text
    .trimStart()
    .split("\n")
    .map((line) => (line.startsWith(indentation) ? line.slice(indentation.length) : line));
  const percent = readPercentLines(lines);
  const fields = percent.length > 0 ? percent : readFieldLines(lines);
  if (fields.length === 0) return { text, title: null, author: null };
  unspoken.add("front_matter", fields.join(" "));
  const rest = lines.slice(fields.length).join("\n");
  if (percent.length === 0) return { ...readFields(fields), text: rest };
  const [title = "", author = ""] = percent.join("\n").split(/^%/m).slice(1).map(collapseSpaces);
  return { title: title || null, author: author.split(/\s*;\s*/).join(", ") || null, text: rest };
}
