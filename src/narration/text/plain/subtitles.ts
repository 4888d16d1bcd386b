/**
 * Removes cue numbers and time codes from cues (SRT, WebVTT) inside another text, and joins sentences that several cues
 * share. A text that consists only of subtitles is read by `../timeline/` instead. Evidence: form; there must be at
 * least two cues.
 */
import type { UnspokenList } from "../blocks.ts";
import { ENDS_SENTENCE, isBlank } from "../characters.ts";
import { containsCues, parseCueTimes } from "./time-codes.ts";

const CUE_NUMBER_LINE = /^\s*\d{1,6}\s*$/;
const HEADER_LINE = /^\s*(?:WEBVTT\b.*|NOTE\b.*|STYLE|REGION)\s*$/;
const STYLE_TAGS = /<\/?(?:[bicuv]|lang|ruby|rt|font)\b[^<>]{0,100}>|<[\d:.]{5,12}>|\{\\[^{}]{0,40}\}/gi;
const LONG_PAUSE_SECONDS = 1.5;

/**
 * Removes the numbers and times of cues, and joins sentences that continue in the next cue.
 *
 * @param text with `\n` for line ends
 */
export function withoutCueTimes(text: string, unspoken: UnspokenList): string {
  if (!containsCues(text)) return text;
  const lines = text.split("\n");
  const isTimes = (index: number): boolean => parseCueTimes(lines[index] ?? "") !== null;
  const keptLines: string[] = [];
  let open: "cue" | "header" | null = null;
  let endsAt = 0;
  let last = "";
  for (const [index, line] of lines.entries()) {
    const times = parseCueTimes(line);
    if (times !== null) {
      unspoken.add("time_code", line.trim());
      if (ENDS_SENTENCE.test(last) && times.startSeconds - endsAt >= LONG_PAUSE_SECONDS) keptLines.push("");
      endsAt = times.endSeconds;
      open = "cue";
    } else if (isBlank(line)) {
      if (open === null || !(isTimes(index + 1) || isTimes(index + 2))) keptLines.push(line);
      open = null;
    } else if (isTimes(index + 1) && (CUE_NUMBER_LINE.test(line) || isBlank(lines[index - 1]))) open = null;
    else if (open === "cue") {
      last = line.replace(STYLE_TAGS, "").trim();
      keptLines.push(last);
    } else if (open === null && !(HEADER_LINE.test(line) && isBlank(lines[index - 1]))) keptLines.push(line);
    else open = "header";
  }
  return keptLines.join("\n");
}
