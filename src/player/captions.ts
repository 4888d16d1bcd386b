/** Reads captions (WebVTT, SubRip) and chapters (JSON) in the form that this server writes. Ignores everything else. */
import { parseEntries, parseFields, parseNumber, parseText } from "./parse-fields.ts";

export interface TimedLabel {
  readonly startSeconds: number;
  readonly text: string;
}

export interface Cue extends TimedLabel {
  readonly endSeconds: number;
}

const TIMES_LINE = /^(?:(\d+):)?(\d\d):(\d\d[.,]\d{3}) --> (?:(\d+):)?(\d\d):(\d\d[.,]\d{3})/;

const parseSeconds = (hours = "0", minutes = "0", seconds = "0"): number =>
  Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds.replace(",", "."));

const ENTITIES: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

/**
 * Parses captions in WebVTT or SubRip. Puts the speaker of a voice tag before the words. Skips blocks without a line of
 * times. Cuts a cue's text that has more than 300 characters.
 */
export function parseCues(file: string): Cue[] {
  return file
    .split(/\n\s*\n/)
    .slice(0, 20_000)
    .flatMap((block) => {
      const lines = block.split("\n");
      const timesLineIndex = lines.findIndex((line) => TIMES_LINE.test(line));
      const times = TIMES_LINE.exec(lines[timesLineIndex] ?? "");
      if (times === null) return [];
      const cueText = lines
        .slice(timesLineIndex + 1)
        .join(" ")
        .replace(/^<v ([^>]*)>/, "$1: ")
        .replace(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity] ?? entity);
      return [
        {
          startSeconds: parseSeconds(times[1], times[2], times[3]),
          endSeconds: parseSeconds(times[4], times[5], times[6]),
          text: parseText(cueText, 300),
        },
      ];
    });
}

/**
 * Parses a file of chapters. Returns an empty list if the file is not JSON. Skips chapters without a start time or a
 * title.
 */
export function parseChapters(file: string): TimedLabel[] {
  let value: unknown;
  try {
    value = JSON.parse(file);
  } catch {
    return [];
  }
  return parseEntries(parseFields(value)["chapters"], 500).flatMap((entry) => {
    const startSeconds = parseNumber(parseFields(entry)["startTime"]);
    const title = parseText(parseFields(entry)["title"], 200);
    return startSeconds === null || title === "" ? [] : [{ startSeconds, text: title }];
  });
}

/**
 * Returns the index of the last chapter or sentence that begins at or before a time; -1 if there is none.
 *
 * @param labels chapters or sentences, sorted by time
 */
export function findIndexAt(labels: readonly TimedLabel[], seconds: number): number {
  let [low, high] = [0, labels.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((labels[middle]?.startSeconds ?? 0) <= seconds + 0.01) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
