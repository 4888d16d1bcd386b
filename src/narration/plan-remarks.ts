/** What a producer should know of a plan before paying: its chapters, its language, who speaks how much. */
import { VOICES } from "../contract/voices.ts";
import { excerptOf } from "./plan/blocks.ts";
import { textLanguage } from "./plan/language.ts";
import type { NarrationPlan } from "./plan/plan.ts";

const VOICES_SHOWN = 10;

function chaptersRemark({ sections }: NarrationPlan): string[] {
  const titles = sections.flatMap(({ title }) => (title === null ? [] : [title]));
  const [first] = titles;
  const last = titles.at(-1);
  if (first === undefined || last === undefined || titles.length < 2) return [];
  return [
    `${titles.length} chapters, from ${JSON.stringify(excerptOf(first))} to ${JSON.stringify(excerptOf(last))}.`,
  ];
}

function languageRemarks({ parts }: NarrationPlan, voice: string | undefined): string[] {
  const texts = new Map<string, string>();
  for (const part of parts) {
    const id = part.voice ?? voice ?? "";
    texts.set(id, `${texts.get(id) ?? ""}${part.text}\n`.slice(0, 20_000));
  }
  return [...texts].flatMap(([id, text]) => {
    const language = textLanguage(text);
    if (language === null) return [];
    if (language.code === null)
      return [`The text seems to be in ${language.name}, which no voice of the service speaks.`];
    const known = VOICES.find((other) => other.id === id);
    const speaks = known === undefined || known.languages.some((code) => code === language.code);
    return speaks ? [] : [`The text seems to be in ${language.name}, which the voice ${id} does not speak.`];
  });
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

/** How the text begins and ends, so that a cut or a wrong file is seen before it is paid for. */
export function edgesRemark({ parts }: NarrationPlan): string {
  const flat = parts.map(({ text }) => text.replace(/\s+/g, " "));
  const last = flat.at(-1) ?? "";
  const [end = last] = /(?<= |^).{1,60}$/u.exec(last) ?? [];
  const ending = end === last ? end : `…${end}`;
  return `It begins ${JSON.stringify(excerptOf(flat[0] ?? ""))} and ends ${JSON.stringify(ending)}.`;
}

/** @param voice of the narration; absent: the service's own choice */
export const planRemarks = (plan: NarrationPlan, voice: string | undefined): string[] => [
  ...chaptersRemark(plan),
  ...languageRemarks(plan, voice),
  ...voicesRemark(plan, voice),
];
