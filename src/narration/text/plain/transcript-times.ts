/**
 * Removes the times of a transcript, and writes its labels with a colon, as scripts do: `Dana Reed  0:03`, `Dana Reed
 * (00:03):`, `00:03 Dana Reed:`, and times alone on their lines. Evidence: sequence. The times rise, and the names recur.
 * Prices, scores, verses of the Bible and the hours of a schedule stay.
 */
import type { UnspokenList } from "../blocks.ts";
import { HARD_BREAK } from "../normalize.ts";
import { isSequence } from "../number-sequence.ts";
import { parseTimeCode } from "./time-codes.ts";

const BREAK = `[\\n${HARD_BREAK}]`;
/** The day of a message in a chat. */
const DAY = "\\d{1,4}[./-]\\d{1,2}[./-]\\d{1,4},? ";
const HAS_DAY = new RegExp(DAY);
const TIME = "(\\d{1,3}:[0-5]\\d(?::[0-5]\\d)?)(?:[.,]\\d{1,3})?(?: ?[AaPp]\\.?[Mm]\\b\\.?)?";
const SPAN = `[([]?(?:${DAY})?${TIME}(?: ?(?:-->|[–—-]) ?\\d{1,3}(?::[0-5]\\d){1,2}(?:[.,]\\d{1,3})?)?[)\\]]?`;
const WORD = "[\\p{L}\\p{M}\\p{N}.'’-]{1,30}";
const NAME = `([\\p{Lu}\\p{Lo}][\\p{L}\\p{M}\\p{N}.'’-]{0,30}(?:,? ${WORD}){0,5})`;
const LINE = `(?<=^|${BREAK})[ \\t]*`;
const LINE_END = `[ \\t]*(?:${BREAK}|$)`;

const TWO_LINES = new RegExp(`\\S[ \\t]*${BREAK}[ \\t]*\\S`);

/** A place of times: how its lines look, and which groups of the pattern are the name, the gap and the time. */
interface Place {
  readonly pattern: RegExp;
  readonly name: number | null;
  readonly time: number;
  /** Whether the form alone shows that the time belongs to the name, so that the times may begin late. */
  readonly isCertain: (match: RegExpMatchArray) => boolean;
}

const PLACES: readonly Place[] = [
  {
    pattern: new RegExp(
      `${LINE}${NAME}([ \\t]*(?:${BREAK}[ \\t]*)?(?:[,–—|-] ?)?)${SPAN}(?:[ \\t]*[:：][ \\t]*${BREAK}?|${LINE_END})`,
      "gu",
    ),
    name: 1,
    time: 3,
    isCertain: ([line]) => / {2}|\t|[()[\]]|[:：]\s*$/.test(line) || TWO_LINES.test(line),
  },
  {
    pattern: new RegExp(
      `${LINE}${SPAN}[ \\t]*(?:[,–—|-] ?)?${BREAK}?${NAME}[ \\t]*[:：][ \\t]*${BREAK}?`,
      "gu",
    ),
    name: 2,
    time: 1,
    isCertain: () => true,
  },
  { pattern: new RegExp(`${LINE}${SPAN}${LINE_END}`, "gu"), name: null, time: 1, isCertain: () => false },
];

const MIN_TIMES = 3;
/** Minimum average number of times beside the same name. The names of runners in a list of results recur less often. */
const MIN_RECURRENCE = 1.5;
const MINUTE = 60;

/** Whether times at one place are those of a transcript. */
function areTimesOfTranscript(
  matches: readonly RegExpMatchArray[],
  { name, time, isCertain }: Place,
): boolean {
  if (matches.length < MIN_TIMES) return false;
  const seconds = matches.map((match) => parseTimeCode(match[time] ?? ""));
  const names = new Set(name === null ? [] : matches.map((match) => match[name]));
  const isFromStart = (value: number): boolean => value < MINUTE;
  // The hours of a schedule are multiples of five minutes.
  const isCertainlyTime = matches.every(isCertain) && seconds.some((value) => value % 5 !== 0);
  return (
    (isFromStart(seconds[0] ?? MINUTE) || isCertainlyTime) &&
    matches.length >= MIN_RECURRENCE * names.size &&
    // On another day, the time may be an earlier one.
    (matches.every(([line]) => HAS_DAY.test(line)) || isSequence(seconds, { restarts: isFromStart }))
  );
}

/**
 * Removes the times of a transcript from paragraphs with their line breaks, soft and hard.
 *
 * @returns the same number of paragraphs, some of them empty
 */
export function withoutTranscriptTimes(paragraphs: readonly string[], unspoken: UnspokenList): string[] {
  let texts = [...paragraphs];
  for (const place of PLACES) {
    const matches = texts.flatMap((text) => (/\d:\d/.test(text) ? [...text.matchAll(place.pattern)] : []));
    if (!areTimesOfTranscript(matches, place)) continue;
    texts = texts.map((text) =>
      text.replace(place.pattern, (...match) => {
        unspoken.add("time_code", `${match[place.time]}`);
        return place.name === null ? "" : `${match[place.name]}: `;
      }),
    );
  }
  return texts;
}
