/** Reads subtitles (SubRip, WebVTT) into cues in the order of their times, with unchanged text. */
import { AudioError, askUser, type Wording } from "../../errors.ts";
import type { UnspokenList } from "../text/blocks.ts";
import { shortenExcerpt } from "../text/excerpt.ts";
import { normalizeLines } from "../text/normalize.ts";
import { type CueTimes, parseCueTimes } from "../text/plain/time-codes.ts";

export interface Cue extends CueTimes {
  /** The cue's number in the file if the cues have distinct numbers, otherwise its position. */
  readonly name: string;
  readonly lines: readonly string[];
}

export interface Subtitles {
  readonly kind: "srt" | "vtt";
  readonly cues: readonly Cue[];
  /** Number of cues that begin earlier than the cue above them in the file. */
  readonly backwardsCueCount: number;
}

const MAX_CUES = 5000;
const DAY_SECONDS = 24 * 60 * 60;

const VTT_HEADER = /^WEBVTT(?:[ \t]|$)/;
const NO_CUE = /^(?:NOTE|STYLE|REGION)(?:[ \t]|$)/;
const CUE_NUMBER_LINE = /^\s*\d{1,6}\s*$/;
const CODE_FENCE = /^\s*```\s*\w*\s*$/;
/** Matches an incomplete line of times. A line without a digit beside the arrow is text. */
const TIMES_ARROW = /^\s*(?:[\d:.,]+\s*-->|-->\s*\d)/;

function refuse(issue: string, remedy?: Wording): never {
  throw new AudioError("invalid_request", `${issue}. Nothing was sent.`, { remedy });
}

interface OpenCue extends CueTimes {
  readonly id: string | null;
  readonly lines: string[];
}

/**
 * Parses the times of a cue; returns `null` for any other line.
 *
 * @param number number of the line; the first line is number 1
 */
function parseTimes(line: string, number: number): CueTimes | null {
  const times = parseCueTimes(line);
  if (times === null) {
    if (!TIMES_ARROW.test(line)) return null;
    const shownLine = JSON.stringify(shortenExcerpt(line));
    refuse(
      /-->\s*$/.test(line)
        ? `The cue of line ${number} has no end: ${shownLine}`
        : `The times of line ${number} cannot be read: ${shownLine}`,
      "A line of times is 00:00:01,000 --> 00:00:02,500, or with full stops in place of the commas.",
    );
  }
  const { startSeconds, endSeconds } = times;
  if (Math.max(startSeconds, endSeconds) > DAY_SECONDS) {
    refuse(`The times of line ${number} are over 24 hours: ${JSON.stringify(shortenExcerpt(line))}`);
  }
  if (endSeconds < startSeconds) {
    refuse(`The cue of line ${number} ends before it begins: ${JSON.stringify(shortenExcerpt(line))}`);
  }
  return times;
}

/**
 * Reads the cues in the order of the file. Text below a blank line still belongs to the cue above, because people who
 * edit files by hand put blank lines into cues. Text before the first cue is not spoken.
 */
function parseBlocks(lines: readonly string[], isVtt: boolean, unspoken: UnspokenList): OpenCue[] {
  const cues: OpenCue[] = [];
  let isFirst = true;
  let isUnspoken = false;
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") {
      isFirst = true;
      isUnspoken = false;
      continue;
    }
    const begins = isFirst;
    isFirst = false;
    const times = parseTimes(line, index + 1);
    const last = cues.at(-1);
    if (times !== null) {
      const lineAbove = lines[index - 1] ?? "";
      const isId = lineAbove.trim() !== "" && parseCueTimes(lineAbove) === null;
      // If two cues have no blank line between them, the number of the second cue was read as text of the first cue.
      // Remove the number from the first cue.
      if (isId && CUE_NUMBER_LINE.test(lineAbove) && last?.lines.at(-1) === lineAbove) last.lines.pop();
      const isOwn = isId && (CUE_NUMBER_LINE.test(lineAbove) || (lines[index - 2] ?? "").trim() === "");
      cues.push({ ...times, id: isOwn ? lineAbove.trim() : null, lines: [] });
      isUnspoken = false;
      continue;
    }
    if (isUnspoken || CODE_FENCE.test(line)) continue;
    if (begins && parseCueTimes(lines[index + 1] ?? "") !== null) continue;
    if (begins && isVtt && (NO_CUE.test(line) || (last === undefined && VTT_HEADER.test(line))))
      isUnspoken = true;
    else if (last !== undefined) last.lines.push(line);
    else unspoken.add("no_time", line);
  }
  return cues;
}

/** Names the cues by their numbers if every cue has a number and all are distinct, otherwise by their positions. */
function buildCueNames(cues: readonly OpenCue[]): string[] {
  const numbers = cues.flatMap(({ id }) => (id !== null && CUE_NUMBER_LINE.test(id) ? [id] : []));
  const areNumbered = numbers.length === cues.length && new Set(numbers).size === numbers.length;
  return cues.map(({ id }, index) => (areNumbered && id !== null ? id : `${index + 1}`));
}

/**
 * Reads all cues of a file.
 *
 * @throws AudioError `invalid_request` if there are no cues, too many cues, or a cue with missing or impossible times.
 *   If times are wrong, the message names their line
 */
export function parseCues(text: string, unspoken: UnspokenList): Subtitles {
  const lines = normalizeLines(text).split("\n");
  const isVtt = lines.some(
    (line) => VTT_HEADER.test(line) && line === lines.find((first) => first.trim() !== ""),
  );
  const openCues = parseBlocks(lines, isVtt, unspoken);
  if (openCues.length === 0) {
    refuse(
      "The subtitles hold no cue",
      "A cue is a line of times, 00:00:01,000 --> 00:00:02,500, with its text below. A text without times is a .txt or .md file.",
    );
  }
  if (openCues.length > MAX_CUES) {
    refuse(
      `The subtitles have ${openCues.length} cues, and at most ${MAX_CUES} are read`,
      askUser("split the file", ", and narrate each half"),
    );
  }
  const names = buildCueNames(openCues);
  const cues = openCues.map(({ startSeconds, endSeconds, lines: own }, index) => ({
    name: names[index] ?? `${index + 1}`,
    startSeconds,
    endSeconds,
    lines: own,
  }));
  const backwards = cues.filter((cue, index) => cue.startSeconds < (cues[index - 1]?.startSeconds ?? 0));
  return {
    kind: isVtt ? "vtt" : "srt",
    cues: cues.toSorted((one, other) => one.startSeconds - other.startSeconds),
    backwardsCueCount: backwards.length,
  };
}
