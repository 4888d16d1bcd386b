/** Remarks on a plan before it is paid: chapters, language, and how much each speaker says. */
import { languageNotes } from "../text-language.ts";
import { chapterSums } from "./chapter-sums.ts";
import { numberSpans } from "./number-spans.ts";
import { excerptOf } from "./plan/blocks.ts";
import { chapterNumbers } from "./plan/chapter-number.ts";
import { shownChapter } from "./plan/chosen-chapters.ts";
import type { NarrationPlan } from "./plan/plan.ts";

const VOICES_SHOWN = 10;

/** "40 to 90 s", "2 to 9 min", "12 credits". */
function range(values: readonly number[], unit: string): string {
  const least = Math.round(Math.min(...values));
  const most = Math.round(Math.max(...values));
  return least === most ? `${least} ${unit}` : `${least} to ${most} ${unit}`;
}

const MAX_NAMED_CHAPTERS = 5;

/** `Moby-Dick, chapters 3 to 5`; chapters without a number by their titles. */
export function titleOfChosen(title: string, { sections, chosen }: NarrationPlan): string {
  if (chosen === undefined) return title;
  const all = chapterNumbers(sections);
  const numbers = chosen.flatMap((index) => all[index] ?? []);
  const titles = chosen.flatMap((index) =>
    all[index] === null ? [excerptOf(sections[index]?.title ?? "")] : [],
  );
  const named =
    numbers.length === 0 ? [] : [`${numbers.length === 1 ? "chapter" : "chapters"} ${numberSpans(numbers)}`];
  return [title, ...titles.slice(0, MAX_NAMED_CHAPTERS), ...named].join(", ");
}

/** Names the chosen chapters by number and title. */
export function chosenRemark({ sections, chosen }: NarrationPlan): string[] {
  if (chosen === undefined) return [];
  const count = sections.filter(({ title }) => title !== null).length;
  const named = chosen.slice(0, MAX_NAMED_CHAPTERS).map((index) => shownChapter(sections, index));
  const rest = chosen.length - named.length;
  return [`Of ${count} chapters: ${named.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}.`];
}

const SHORT_SECONDS = 120;

/** Reports number, length and price of chapters. */
export function chaptersRemark({
  sections,
  parts,
}: {
  readonly sections: ReadonlyArray<{ readonly title: string | null }>;
  readonly parts: Parameters<typeof chapterSums>[1];
}): string[] {
  const chapters = chapterSums(sections, parts).filter(({ title }) => title !== null);
  const [first, last] = [chapters[0]?.title, chapters.at(-1)?.title];
  if (chapters.length < 2 || !first || !last) return [];
  const seconds = chapters.map((chapter) => chapter.seconds);
  const isShort = seconds.every((one) => one < SHORT_SECONDS);
  const length = isShort
    ? range(seconds, "s")
    : range(
        seconds.map((one) => one / 60),
        "min",
      );
  const price = range(
    chapters.map(({ credits }) => credits),
    "credits",
  );
  return [
    `${chapters.length} chapters, from ${JSON.stringify(excerptOf(first))} to ${JSON.stringify(excerptOf(last))}, each of ${length} and ${price}.`,
  ];
}

function languageRemarks({ parts }: NarrationPlan, voice: string | undefined): string[] {
  const texts = new Map<string, string>();
  for (const part of parts) {
    const id = part.voice ?? voice ?? "";
    texts.set(id, `${texts.get(id) ?? ""}${part.text}\n`.slice(0, 20_000));
  }
  return [...texts].flatMap(([id, text]) => languageNotes(text, id));
}

function voicesRemark({ parts }: NarrationPlan, voice: string | undefined): string[] {
  const seconds = new Map<string, number>();
  for (const part of parts) {
    const id = part.voice ?? voice ?? "the narration’s own voice";
    seconds.set(id, (seconds.get(id) ?? 0) + part.estimatedSeconds);
  }
  if (seconds.size < 2) return [];
  const all = [...seconds.values()].reduce((sum, one) => sum + one, 0);
  const shares = [...seconds]
    .sort(([, one], [, other]) => other - one)
    .slice(0, VOICES_SHOWN)
    .map(([id, one]) => `${id} ${Math.round((100 * one) / all)} %`);
  return [`Spoken by ${shares.join(", ")}.`];
}

/** The beginning of every remark of {@link edgesRemark}. */
export const EDGES_BEGIN = "It begins ";

/** Shows how the text begins and ends, so that a truncated or wrong file is noticed before it is paid for. */
export function edgesRemark({ parts }: { readonly parts: readonly { readonly text: string }[] }): string {
  const flat = parts.map(({ text }) => text.replace(/\s+/g, " "));
  const last = flat.at(-1) ?? "";
  const [end = last] = /(?<= |^).{1,60}$/u.exec(last) ?? [];
  const ending = end === last ? end : `…${end}`;
  return `${EDGES_BEGIN}${JSON.stringify(excerptOf(flat[0] ?? ""))} and ends ${JSON.stringify(ending)}.`;
}

/** @param voice of the narration; absent for the service's default */
export const planRemarks = (plan: NarrationPlan, voice: string | undefined): string[] => [
  ...chaptersRemark(plan),
  ...languageRemarks(plan, voice),
  ...voicesRemark(plan, voice),
];
