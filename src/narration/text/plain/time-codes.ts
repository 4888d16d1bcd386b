/** Recognises cues of subtitles: a line with two times and an arrow, and text below it. */

const TIME_PATTERN = "(?:\\d{1,6}:)?\\d{1,2}:\\d{2}(?:[.,]\\d{1,3})?";
const TIMES_LINE = new RegExp(`^\\s*(${TIME_PATTERN})\\s*-->\\s*(${TIME_PATTERN})(?:\\s.*)?$`);

/** Start and end of a cue, in seconds from the beginning. */
export interface CueTimes {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** Returns the seconds of a time such as `1:02:03.5`. */
export const parseTimeCode = (time: string): number =>
  time
    .replace(",", ".")
    .split(":")
    .reduce((sum, part) => 60 * sum + Number(part), 0);

/** Parses a line of times; `null` for any other line. */
export function parseCueTimes(line: string): CueTimes | null {
  const [, start, end] = TIMES_LINE.exec(line) ?? [];
  if (start === undefined || end === undefined) return null;
  return { startSeconds: parseTimeCode(start), endSeconds: parseTimeCode(end) };
}

const MIN_CUES = 2;

/** Whether a text contains cues. Evidence: form of at least two cues, because a single cue may be an example. */
export function containsCues(text: string): boolean {
  if (!text.includes("-->")) return false;
  const lines = text.split(/\r\n?|\n/);
  let count = 0;
  for (const [index, line] of lines.entries()) {
    if (parseCueTimes(line) === null || /^\s*$/.test(lines[index + 1] ?? "")) continue;
    count += 1;
    if (count === MIN_CUES) return true;
  }
  return false;
}

/** Lines that may precede the first cue: the WebVTT header, the number of the cue, or a code fence of a chat. */
const BEFORE_FIRST = /^\s*(?:WEBVTT\b.*|\d{1,6}|```\s*\w*)\s*$/;

/** Whether a pasted text is subtitles: it contains cues, and its first line may begin a subtitle file. */
export function isSubtitles(text: string): boolean {
  if (!containsCues(text)) return false;
  const lines = text.replace(/^\ufeff/, "").split(/\r\n?|\n/);
  const first = lines.find((line) => line.trim() !== "") ?? "";
  return parseCueTimes(first) !== null || BEFORE_FIRST.test(first);
}
