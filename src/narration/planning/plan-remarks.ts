/**
 * Builds the remarks that a person reads before paying for a plan: on the chosen chapters, on the language, and on how
 * much each voice speaks.
 */
import { describeLanguageMismatch } from "../../text-language.ts";
import { numberChapters } from "../text/chapters/chapter-number.ts";
import { describeChapter } from "../text/chapters/chosen-chapters.ts";
import { shortenExcerpt } from "../text/excerpt.ts";
import { formatNumberSpans } from "../text/number-spans.ts";
import { DEFAULT_PAUSE_SECONDS, type NarrationPlan } from "../text/plan-types.ts";
import { type Remark, toRemarks } from "./stored-plan.ts";

const VOICES_SHOWN = 10;

const MAX_NAMED_CHAPTERS = 5;

/** Returns a title such as `Moby-Dick, chapters 3 to 5`. Chapters without a number are named by their titles. */
export function buildChosenTitle(
  title: string,
  { chapters, chosen }: Pick<NarrationPlan, "chapters" | "chosen">,
): string {
  if (chosen === undefined) return title;
  const chapterNumbers = numberChapters(chapters);
  const numbers = chosen.flatMap((index) => chapterNumbers[index] ?? []);
  const titles = chosen.flatMap((index) =>
    chapterNumbers[index] === null ? [shortenExcerpt(chapters[index]?.title ?? "")] : [],
  );
  const chapterNames =
    numbers.length === 0
      ? []
      : [`${numbers.length === 1 ? "chapter" : "chapters"} ${formatNumberSpans(numbers)}`];
  return [title, ...titles.slice(0, MAX_NAMED_CHAPTERS), ...chapterNames].join(", ");
}

/** Names the chosen chapters by number and title. */
export function buildChosenRemarks({
  chapters,
  chosen,
}: Pick<NarrationPlan, "chapters" | "chosen">): Remark[] {
  if (chosen === undefined) return [];
  const count = chapters.filter(({ title }) => title !== null).length;
  const chapterNames = chosen.slice(0, MAX_NAMED_CHAPTERS).map((index) => describeChapter(chapters, index));
  const furtherCount = chosen.length - chapterNames.length;
  const named = `${chapterNames.join(", ")}${furtherCount > 0 ? ` and ${furtherCount} more` : ""}`;
  return toRemarks("whole_text", [`Of ${count} chapters: ${named}.`]);
}

function buildLanguageRemarks({ parts }: NarrationPlan, voice: string | undefined): string[] {
  const texts = new Map<string, string>();
  for (const part of parts) {
    const id = part.voice ?? voice ?? "";
    texts.set(id, `${texts.get(id) ?? ""}${part.text}\n`.slice(0, 20_000));
  }
  return [...new Set([...texts].flatMap(([id, text]) => describeLanguageMismatch(text, id)))];
}

function buildVoicesRemarks({ parts }: NarrationPlan, voice: string | undefined): string[] {
  const seconds = new Map<string, number>();
  for (const part of parts) {
    const id = part.voice ?? voice ?? "the default voice";
    seconds.set(id, (seconds.get(id) ?? 0) + part.estimatedSeconds);
  }
  if (seconds.size < 2) return [];
  const totalSeconds = [...seconds.values()].reduce((sum, one) => sum + one, 0);
  const shares = [...seconds]
    .sort(([, one], [, other]) => other - one)
    .slice(0, VOICES_SHOWN)
    .map(([id, one]) => `${id} ${Math.round((100 * one) / totalSeconds)} %`);
  return [`Spoken by ${shares.join(", ")}.`];
}

/** Shows how the text begins and ends, so that a truncated or wrong file is noticed before it is paid for. */
export function buildEdgesRemark({
  parts,
}: {
  readonly parts: readonly { readonly text: string }[];
}): Remark {
  const flat = parts.map(({ text }) => text.replace(/\s+/g, " "));
  const last = flat.at(-1) ?? "";
  const [end = last] = /(?<= |^).{1,60}$/u.exec(last) ?? [];
  const ending = end === last ? end : `…${end}`;
  return {
    about: "edges",
    sentence: `It begins ${JSON.stringify(shortenExcerpt(flat[0] ?? ""))} and ends ${JSON.stringify(ending)}.`,
  };
}

/**
 * Adapts the remarks of a plan to another plan that was made from it. Drops the remarks on the whole text. Rebuilds the
 * remark on how the text begins and ends.
 */
export function buildInheritedRemarks(
  remarks: readonly Remark[],
  plan: { readonly parts: readonly { readonly text: string }[] },
): Remark[] {
  return remarks
    .filter(({ about }) => about !== "whole_text")
    .map((remark) => (remark.about === "edges" ? buildEdgesRemark(plan) : remark));
}

/** A remark reports the text before the first heading only if the text is at least this long. */
const MIN_FRONT_SECONDS = 60;
/**
 * A remark reports the text before the first heading only if there are at least this many chapters. The text itself
 * counts as one of them.
 */
const MIN_CHAPTERS_WITH_FRONT = 4;

/** Reports a long text before the first chapter. It may be a table of contents, which the caller can leave out. */
function buildFrontRemarks({ parts, chapters, chosen }: NarrationPlan): string[] {
  if (chosen !== undefined || chapters[0]?.title !== null || chapters.length < MIN_CHAPTERS_WITH_FRONT)
    return [];
  const front = parts.filter(({ chapterIndex }) => chapterIndex === 0);
  const seconds = front.reduce((sum, { estimatedSeconds }) => sum + estimatedSeconds, 0);
  if (seconds < MIN_FRONT_SECONDS) return [];
  const length = `about ${Math.round(seconds / 60)} min`;
  return [
    `Before the first chapter, ${length} are spoken, such as a title page or a table of contents; chapters "1-last" leaves them out.`,
  ];
}

/**
 * Collects the remarks on a plan.
 *
 * @param voice the voice of the narration; absent for the service's default
 */
export const buildPlanRemarks = (plan: NarrationPlan, voice: string | undefined): Remark[] => [
  ...toRemarks("language", buildLanguageRemarks(plan, voice)),
  ...toRemarks("whole_text", [...buildFrontRemarks(plan), ...buildVoicesRemarks(plan, voice)]),
];

/**
 * Builds a remark that names the settings that a kind of text does not use, so that nobody waits for their effect. Returns an empty list if the call kept their defaults.
 *
 * @param reason why the settings have no effect, as a clause after "because"
 */
export function buildUnusedSettingsRemarks(
  { pauseSeconds, fileLayout }: { readonly pauseSeconds: number; readonly fileLayout: "one" | "chapters" },
  reason: string,
): string[] {
  const unused = [
    ...(pauseSeconds === DEFAULT_PAUSE_SECONDS ? [] : ["pauses between paragraphs"]),
    ...(fileLayout === "chapters" ? ["a file for each chapter"] : []),
  ];
  return unused.length === 0 ? [] : [`Not used: ${unused.join(" and ")}, because ${reason}.`];
}

const MAX_SILENT_VOICES = 10;

/**
 * Builds the remarks on voices that nobody speaks with, so many that the answer stays short.
 *
 * @param where says where a quoted name does not stand
 */
export function buildSilentVoiceRemarks(
  names: readonly string[],
  where: (quotedName: string) => string,
): string[] {
  const remarks = names
    .slice(0, MAX_SILENT_VOICES)
    .map((name) => `${where(JSON.stringify(name))}: nobody speaks with that voice.`);
  const rest = names.length - remarks.length;
  return rest === 0 ? remarks : [...remarks, `So it is with ${rest} more of the names in voices.`];
}
