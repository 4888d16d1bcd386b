/**
 * Takes cue numbers and time codes off subtitles (SRT, WebVTT), and joins the sentences that several cues hold.
 * Evidence: form, lines with two time codes and an arrow, at least two of them.
 */
import type { SkippedList } from "./blocks.ts";

const TIMES =
  /^\s*((?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{2,3})\s+-->\s+((?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{2,3})(?:\s.*)?$/;
const NUMBER = /^\s*\d{1,6}\s*$/;
const HEADER = /^\s*(?:WEBVTT\b.*|NOTE\b.*|STYLE|REGION)\s*$/;
const STYLES = /<\/?(?:[bicuv]|lang|ruby|rt|font)\b[^<>]{0,100}>|<[\d:.]{5,12}>|\{\\[^{}]{0,40}\}/gi;
const ENDS_SENTENCE = /[.!?…。！？][”’"'»」』)）]*$/;
const LONG_PAUSE_SECONDS = 1.5;

const secondsOf = (time: string): number =>
  time
    .replace(",", ".")
    .split(":")
    .reduce((sum, part) => 60 * sum + Number(part), 0);

/** @param text with `\n` for line ends */
export function withoutCues(text: string, skipped: SkippedList): string {
  if (!text.includes("-->")) return text;
  const lines = text.split("\n");
  if (lines.filter((line) => TIMES.test(line)).length < 2) return text;
  const out: string[] = [];
  let endsAt = 0;
  let last = "";
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const [, start = "", end = ""] = TIMES.exec(line) ?? [];
    if (start === "") {
      const isNumber = NUMBER.test(line) && TIMES.test(lines[at + 1] ?? "");
      const isName =
        line.trim() !== "" && (lines[at - 1] ?? "").trim() === "" && TIMES.test(lines[at + 1] ?? "");
      if (isNumber || isName) continue;
      if (HEADER.test(line) && (at === 0 || (lines[at - 1] ?? "").trim() === "")) {
        while ((lines[at + 1] ?? "").trim() !== "") at += 1;
        continue;
      }
      out.push(line);
      continue;
    }
    const words: string[] = [];
    while ((lines[at + 1] ?? "").trim() !== "") {
      at += 1;
      words.push((lines[at] ?? "").replace(STYLES, ""));
    }
    // The blank line below is the format's.
    at += 1;
    skipped.add("time_code", line.trim());
    const isPause =
      last !== "" && ENDS_SENTENCE.test(last) && secondsOf(start) - endsAt >= LONG_PAUSE_SECONDS;
    if (isPause) out.push("");
    out.push(...words);
    last = words.at(-1)?.trim() ?? last;
    endsAt = secondsOf(end);
  }
  return out.join("\n");
}
