/** Writes the sentences about a plan: its parts, its length and price, its chapters, and what a limit pays for. */
import { MINIMUM_CHARGE_CREDITS, MINIMUM_CHARGE_SECONDS, RESERVED_CREDITS } from "../contract/billing.ts";
import { LIMIT_WINDOW_SECONDS, SUBMISSIONS_PER_WINDOW } from "../contract/service-limits.ts";
import type { Reader } from "../errors.ts";
import type { NarrationView } from "./narration-view.ts";
import { formatCount, formatDuration } from "./quantity-words.ts";
import { shortenExcerpt } from "./text/excerpt.ts";

/** States the parts, the length and the price of a plan. */
export function describePlan(
  { parts, missingCount, credits, seconds, retakenPartCount }: NarrationView,
  reader: Reader,
): string {
  const takes =
    retakenPartCount === 0
      ? ""
      : ` ${formatCount(retakenPartCount, "part")} in another take or at another speed.`;
  const missing = parts.total - parts.saved;
  const limit = reader === "terminal" ? "--max-credits" : "max_credits";
  const more = `${takes}${describeMinimumTime(missingCount, reader)} Nothing was sent or charged.`;
  if (credits.charged > 0) {
    const toCome = credits.estimate - credits.charged;
    return `A plan: ${formatCount(missing, "part")} to be made for about ${toCome} credits, beside the ${credits.charged} charged for it so far; ${limit} counts both.${more}`;
  }
  const plan = `A plan of ${formatCount(parts.total, "part")}`;
  const audio = `about ${formatDuration(seconds.estimate)} of audio`;
  if (missing === 0) return `${plan}, ${audio}, all of it paid for already. Nothing was sent or charged.`;
  if (parts.saved === 0) return `${plan}: ${audio} for about ${credits.estimate} credits.${more}`;
  const others = parts.saved === 1 ? "the other is" : `the other ${parts.saved} are`;
  return `A plan: ${audio}. ${missing} of ${parts.total} parts ${missing === 1 ? "is" : "are"} new: about ${credits.estimate} credits; ${others} paid for already. ${limit} counts this narration alone.${more}`;
}

/** One or two short parts cost too little for a sentence. */
const MIN_REPORTED_SHORT_PARTS = 3;

/** Reports short parts, such as turns of a dialogue, because each costs the minimum charge. */
export const describeShortParts = ({ shortPartCount }: NarrationView): string =>
  shortPartCount < MIN_REPORTED_SHORT_PARTS
    ? ""
    : `${shortPartCount} parts are shorter than ${MINIMUM_CHARGE_SECONDS} s and cost ${MINIMUM_CHARGE_CREDITS} credits, the least that is charged, each.`;

/**
 * States how long the parts take at the service's rate limit. Returns an empty text for less than the wait of a call,
 * which needs no word.
 */
function describeMinimumTime(missing: number, reader: Reader): string {
  const seconds = missing * (LIMIT_WINDOW_SECONDS / SUBMISSIONS_PER_WINDOW);
  if (seconds < LONG_WORK_SECONDS) return "";
  return ` Making it takes about ${formatDuration(seconds)} or more, because the service takes ${SUBMISSIONS_PER_WINDOW} tasks a minute${reader === "terminal" ? "" : ", and needs this app open"}.`;
}

const LONG_WORK_SECONDS = 45;

/** Formats the range of some values: "40 to 90 s", "2 to 9 min", "12 credits". */
function formatRange(values: readonly number[], unit: string): string {
  const min = Math.round(Math.min(...values));
  const max = Math.round(Math.max(...values));
  return min === max ? `${min} ${unit}` : `${min} to ${max} ${unit}`;
}

const SHORT_CHAPTER_SECONDS = 120;

const MAX_CHAPTERS_SHOWN = 30;

/** Summarizes the chapters of a plan that has more than its list shows. */
export function summarizeChapters({ chapters: chaptersAndFront }: NarrationView): string {
  if (chaptersAndFront.length <= MAX_CHAPTERS_SHOWN) return "";
  const chapters = chaptersAndFront.filter(({ title }) => title !== null);
  const [first, last] = [chapters[0]?.title, chapters.at(-1)?.title];
  if (chapters.length < 2 || !first || !last) return "";
  const seconds = chapters.map((chapter) => chapter.seconds);
  const length = seconds.every((one) => one < SHORT_CHAPTER_SECONDS)
    ? formatRange(seconds, "s")
    : formatRange(
        seconds.map((one) => one / 60),
        "min",
      );
  const prices = chapters.map(({ credits }) => credits);
  const price = Math.max(...prices) === 0 ? "" : ` and ${formatRange(prices, "credits")}`;
  return `${chapters.length} chapters, from ${JSON.stringify(shortenExcerpt(first))} to ${JSON.stringify(shortenExcerpt(last))}, each of ${length}${price}.`;
}

/** Confirms that each chapter becomes a file, or says how rows are chosen: a sheet's plan has named its files already. */
export function describePlannedFiles(
  { chapterFileCount, isSheet, isOfChosen, parts }: NarrationView,
  reader: Reader,
): string {
  if (isSheet && parts.total > 1 && !isOfChosen)
    return `Some rows only: the file again, with ${reader === "terminal" ? "--chapters" : "chapters"} "1-2" (the first two) or their names.`;
  if (chapterFileCount === null) return "";
  return chapterFileCount === 1
    ? "1 file, because there is one chapter."
    : `${chapterFileCount} files, one for each chapter.`;
}

/** Lists the chapters of a plan with number, length and price. */
export function formatChapterList(
  { chapters, isOfChosen }: NarrationView,
  reader: Reader = "assistant",
): string {
  if (chapters.length === 0) return "";
  const rows = chapters.slice(0, MAX_CHAPTERS_SHOWN).map(({ number, title, seconds, credits }) => {
    const name = title === null ? "(before the first heading)" : JSON.stringify(shortenExcerpt(title));
    return `${number === null ? "" : `${number} `}${name} ${formatDuration(seconds)}, ${Math.round(credits)}`;
  });
  const furtherCount = chapters.length - rows.length;
  const [first = 1, second] = chapters.flatMap(({ title, number }) => (title === null ? [] : (number ?? [])));
  const example = chapters.length > 2 && second === first + 1 ? `${first}-${second}` : `${first}`;
  const argument = reader === "terminal" ? "option --chapters" : "argument chapters";
  const hint =
    chapters.length < 2 || isOfChosen ? "" : ` The ${argument} narrates some of them: "${example}".`;
  return `Chapters with length and credits: ${rows.join("; ")}${furtherCount > 0 ? `; and ${furtherCount} more` : ""}.${hint}`;
}

export const RESERVATION_RULE = `each part holds ${RESERVED_CREDITS} credits until it ends`;

/** Explains the effect of a credit limit that is unlikely to suffice. */
export function describeLowLimit(limit: number, view: NarrationView, reader: Reader): string {
  const { estimate, leastMax } = view.credits;
  const effect = paysForNoPart(limit, view) ? "pays for no part" : "is likely to end it early";
  return `${reader === "terminal" ? "--max-credits" : "max_credits"} ${limit} ${effect}, because about ${estimate} credits are likely to be charged, and ${RESERVATION_RULE}: that needs ${leastMax}.`;
}

/** Whether a limit has no room for the reservation of a single part. */
export const paysForNoPart = (limit: number, { credits }: NarrationView): boolean =>
  limit < credits.charged + RESERVED_CREDITS;

/** Whether a limit reaches the end if no part comes out longer than estimated. */
export const coversLikelyCost = (limit: number, { credits }: NarrationView): boolean =>
  limit >= credits.leastMax;
