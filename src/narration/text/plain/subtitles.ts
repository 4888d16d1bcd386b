/**
 * Removes cue numbers and time codes from cues (SRT, WebVTT) inside another text, and joins sentences that several cues
 * share. A text that consists only of subtitles is read by `../timeline/` instead. Evidence: form; there must be at
 * least two cues.
 */
import type { UnspokenList } from "../blocks.ts";
import { ENDS_SENTENCE } from "../characters.ts";
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
  const keptLines: string[] = [];
  let endsAt = 0;
  let last = "";
  for (let lineIndex = 0; lineIndex < lines.length; lineIndex += 1) {
    const line = lines[lineIndex] ?? "";
    const times = parseCueTimes(line);
    if (times === null) {
      const isBeforeTimes = parseCueTimes(lines[lineIndex + 1] ?? "") !== null;
      const isNumber = CUE_NUMBER_LINE.test(line) && isBeforeTimes;
      const isName = line.trim() !== "" && (lines[lineIndex - 1] ?? "").trim() === "" && isBeforeTimes;
      if (isNumber || isName) continue;
      if (HEADER_LINE.test(line) && (lineIndex === 0 || (lines[lineIndex - 1] ?? "").trim() === "")) {
        while ((lines[lineIndex + 1] ?? "").trim() !== "") lineIndex += 1;
        continue;
      }
      keptLines.push(line);
      continue;
    }
    const words: string[] = [];
    while ((lines[lineIndex + 1] ?? "").trim() !== "") {
      lineIndex += 1;
      words.push((lines[lineIndex] ?? "").replace(STYLE_TAGS, ""));
    }
    // Skip the blank line after a cue.
    lineIndex += 1;
    unspoken.add("time_code", line.trim());
    const isPause =
      last !== "" && ENDS_SENTENCE.test(last) && times.startSeconds - endsAt >= LONG_PAUSE_SECONDS;
    if (isPause) keptLines.push("");
    keptLines.push(...words);
    last = words.at(-1)?.trim() ?? last;
    endsAt = times.endSeconds;
  }
  return keptLines.join("\n");
}
