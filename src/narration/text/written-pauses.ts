/**
 * Reads marks such as `[pause 2s]` as silence. Evidence: form. The mark must stand at an edge of a line or
 * between sentences. Inside a sentence, the mark is no pause, because the sentence only mentions it.
 */
import { AudioError } from "../../errors.ts";
import type { SourceBlock } from "./blocks.ts";
import { CLOSERS } from "./characters.ts";

const MAX_WRITTEN_PAUSE_SECONDS = 60;
/**
 * Maximum total length of the pauses in a text. The limit suffices for a list of words that a learner repeats. Such a
 * list needs a few hundred pauses. A longer total is refused, because hours of silence would fill a disk for a few
 * credits.
 */
const MAX_TOTAL_SECONDS = 3600;

const NUMBER_PATTERN = "\\d{1,6}(?:[.,]\\d{1,3})?";
const UNIT_PATTERN = "ms|milliseconds?|mins?|minutes?|s|secs?|seconds?";
const PAUSE_WORD = "pause|break|silence";
const PAUSE_MARK = new RegExp(
  `[[(]\\s*(?:(?:${PAUSE_WORD})[\\s:]+(?<figure>${NUMBER_PATTERN})\\s*(?<unit>${UNIT_PATTERN})?|(?<figureFirst>${NUMBER_PATTERN})[\\s-]*(?<unitFirst>${UNIT_PATTERN})[\\s-]+(?:${PAUSE_WORD}))\\s*[\\])]`,
  "giu",
);
const BLANKS = "[^\\S\\n\\u2028]*";
/** Matches behind the beginning of a line, and behind the end of a sentence, a colon or a dash. */
const BEHIND_EDGE = new RegExp(
  `(?<=(?:^|[\\n\\u2028])${BLANKS}|[.!?…。！？—:：][${CLOSERS}*_]*${BLANKS})`,
  "uy",
);
const BEFORE_LINE_END = new RegExp(`${BLANKS}(?:[\\n\\u2028]|$)`, "uy");
const BREAK_TAG = /<break\s+time\s*=\s*["']?(\d{1,6}(?:\.\d{1,3})?)(ms|s)["']?\s*\/?>/gi;

/**
 * Converts SSML's tag for pauses to a mark such as `[pause 2s]`. Without the conversion, the tag would be left out,
 * like an HTML tag.
 */
export const markBreakTags = (text: string): string => text.replace(BREAK_TAG, "[pause $1$2]");

/** @throws AudioError `invalid_request` for a pause that is too long */
function parsePauseSeconds({ 0: mark, groups = {} }: RegExpMatchArray): number {
  const figure = groups["figure"] ?? groups["figureFirst"] ?? "";
  const unit = groups["unit"] ?? groups["unitFirst"] ?? "s";
  const unitSeconds = /^mi(?!l)/i.test(unit) ? 60 : /^m/i.test(unit) ? 0.001 : 1;
  const seconds = Number(figure.replace(",", ".")) * unitSeconds;
  if (seconds <= MAX_WRITTEN_PAUSE_SECONDS) return seconds;
  throw new AudioError(
    "invalid_request",
    `${mark} is longer than ${MAX_WRITTEN_PAUSE_SECONDS} s, the longest pause that a text may hold. Nothing was sent.`,
    {
      remedy: `Write [pause ${MAX_WRITTEN_PAUSE_SECONDS}s] at most, or several pauses on lines of their own.`,
    },
  );
}

/** Whether a mark stands at an edge of its line, or behind the end of a statement. */
const isAtEdge = ({ index, input, 0: mark }: RegExpExecArray): boolean =>
  [BEHIND_EDGE, BEFORE_LINE_END].some((edge, atEnd) => {
    edge.lastIndex = index + atEnd * mark.length;
    return edge.test(input);
  });

/**
 * Divides paragraphs at pause marks. The same speaker speaks before and after a mark, unless a label follows the mark.
 *
 * @throws AudioError `invalid_request` if a pause, or the total of all pauses, is too long
 */
export function withPauses(blocks: readonly SourceBlock[]): SourceBlock[] {
  const divided = divideByPauses(blocks);
  const total = divided.reduce((sum, block) => sum + (block.kind === "pause" ? block.seconds : 0), 0);
  if (total <= MAX_TOTAL_SECONDS) return divided;
  throw new AudioError(
    "invalid_request",
    `The pauses of the text come to ${Math.round(total / 60)} minutes; ${MAX_TOTAL_SECONDS / 60} is the most. Nothing was sent.`,
    { remedy: "Make the pauses shorter, or divide the text." },
  );
}

function divideByPauses(blocks: readonly SourceBlock[]): SourceBlock[] {
  return blocks.flatMap((block): SourceBlock[] => {
    if (block.kind !== "paragraph" || !/[[(]/.test(block.text) || !/pause|break|silence/i.test(block.text))
      return [block];
    const divided: SourceBlock[] = [];
    let from = 0;
    const add = (to: number): void => {
      const text = block.text.slice(from, to);
      if (/[^\s\u2028]/.test(text)) {
        divided.push({ kind: "paragraph", text, ...(from > 0 ? { continues: true } : {}) });
      }
    };
    for (const mark of block.text.matchAll(PAUSE_MARK)) {
      if (!isAtEdge(mark)) continue;
      add(mark.index);
      divided.push({ kind: "pause", seconds: parsePauseSeconds(mark) });
      from = mark.index + mark[0].length;
    }
    if (from === 0) return [block];
    add(block.text.length);
    return divided;
  });
}
