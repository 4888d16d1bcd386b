/**
 * Reads the notation of Aozora Bunko: readings 《》, notes ［＃…］, and headings that are marked by notes. A text counts as
 * one of Aozora Bunko if it has a note or at least three readings. In other texts, 《》 are kept, because Chinese texts
 * put titles in 《》.
 */
import type { UnspokenList } from "../blocks.ts";
import { markHeadingLine } from "../chapters/source-headings.ts";

const RUBY =
  /｜([^｜《》\n]{1,40})《[^《》\n]{1,40}》|([\p{Script=Han}々〆ヶ仝〇]{1,20})《[\u3041-\u30ff・ ]{1,30}》/gu;
/** Matches a word with its reading in 《》, if a note in the word describes a rare character. The reading is spoken. */
const RARE_RUBY =
  /｜?(?:[\p{Script=Han}々]{0,8}※［＃[^］\n]{1,120}］){1,4}[\p{Script=Han}々]{0,8}《([^《》\n]{1,40})》/gu;
const MIN_RUBY = 3;
const EDITORIAL_NOTE = /※?［＃[^］\n]{0,300}］/g;
const LEGEND = /^-{20,}\n[^\n]*記号について[\s\S]{0,4000}?\n-{20,}$/m;
const COLOPHON = /\n底本：[\s\S]{0,6000}$/;
const HEADING_LEVELS: Readonly<Record<string, number>> = { 大: 1, 中: 2, 小: 3 };
const NAMED_HEADING = /^(.*)［＃「[^」\n]{1,200}」は(?:同行|窓)?([大中小])見出し］(.*)$/;
const MARKED_HEADING =
  /［＃(?:ここから)?(?:同行|窓)?([大中小])見出し］\s*([^［]{1,200}?)\s*［＃(?:ここで)?(?:同行|窓)?[大中小]見出し終わり］/g;

/** Matches the lines with title and author, which stand above the legend of the notation. */
const TITLE_AND_AUTHOR =
  /^(?<title>[^\n［《]{1,80})\n(?<author>[^\n［《]{1,40})\n(?:[^\n]{0,80}\n){0,3}\s*(?=-{20,}\n[^\n]*記号について)/;

/** Returns title and author from the first lines; `null` for a text without the legend of Aozora Bunko. */
export function parseAozoraHeader(text: string): { readonly title: string; readonly author: string } | null {
  const { title, author } = TITLE_AND_AUTHOR.exec(text.trimStart())?.groups ?? {};
  return title === undefined || author === undefined ? null : { title: title.trim(), author: author.trim() };
}

/**
 * Removes the notation of Aozora Bunko.
 *
 * @param text with `\n` for line ends
 */
export function withoutAozora(text: string, unspoken: UnspokenList): string {
  const hasNotes = text.includes("［＃");
  if (!hasNotes && !text.includes("《")) return text;
  if (!hasNotes && (text.match(RUBY)?.length ?? 0) < MIN_RUBY) return text;
  const heading = (words: string, size: string): string =>
    markHeadingLine(HEADING_LEVELS[size] ?? 2, words.replace(EDITORIAL_NOTE, "").trim());
  return unspoken
    .drop("ebook_frame", unspoken.drop("ebook_frame", text, LEGEND), COLOPHON)
    .replace(RARE_RUBY, (all, reading: string) => {
      unspoken.add("note", all);
      return reading;
    })
    .replace(RUBY, (all, marked?: string, kanji?: string) => {
      unspoken.add("ruby", all);
      return marked ?? kanji ?? "";
    })
    .replace(MARKED_HEADING, (_, size: string, words: string) => heading(words, size))
    .split("\n")
    .map((line) => {
      const [, before = "", size, after = ""] = line.includes("見出し］")
        ? (NAMED_HEADING.exec(line) ?? [])
        : [];
      return size === undefined ? unspoken.drop("note", line, EDITORIAL_NOTE) : heading(before + after, size);
    })
    .join("\n");
}
