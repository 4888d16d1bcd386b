/** Builds the stored plan of a text: its parts, settings and chapters, and the remarks for the person who pays. */
import { INVISIBLE_CHARACTERS } from "../../contract/unicode.ts";
import { AudioError } from "../../errors.ts";
import type { TextFormat } from "../../files/input-format.ts";
import { describeRespelledWords, type Pronunciation } from "../../pronunciation.ts";
import type { ParsedText, UnspokenList } from "../text/blocks.ts";
import { selectChapters } from "../text/chapters/chosen-chapters.ts";
import { chooseNarrationTitle } from "../text/narration-title.ts";
import { isSubtitles } from "../text/plain/time-codes.ts";
import { planBlocks, planText } from "../text/plan-text.ts";
import {
  buildVoiceSettingsKey,
  MAX_PARTS,
  type NarrationPlan,
  type PlannedPart,
  type PlanRequest,
  type SpeakersByName,
} from "../text/plan-types.ts";
import { planTimeline } from "../timeline/plan-timeline.ts";
import {
  buildChosenRemarks,
  buildChosenTitle,
  buildEdgesRemark,
  buildPlanRemarks,
  buildSilentVoiceRemarks,
  buildUnusedSettingsRemarks,
} from "./plan-remarks.ts";
import { applyPronunciations, type RespelledPart } from "./respelled-part.ts";
import {
  type NarrationSettings,
  type Remark,
  type StoredPart,
  type StoredPlan,
  toRemarks,
} from "./stored-plan.ts";
import { buildUnspokenRemark, toRemarkOnWholeText } from "./unspoken-remarks.ts";

export interface PlanOptions {
  readonly settings: NarrationSettings;
  readonly voices: SpeakersByName;
  readonly pronunciations?: readonly Pronunciation[];
  readonly pauseSeconds: number;
  /** Whether there is a pause of `pauseSeconds` after every paragraph. Such a plan has more parts, so it costs more. */
  readonly pausesAfterParagraphs?: boolean;
  readonly fileLayout: "one" | "chapters";
  /** The chapters to narrate, in the syntax of `parseChapterChoice`; absent for all. */
  readonly chapters?: string | undefined;
}

/**
 * What is planned: a text, or a function that reads an HTML page or an EPUB into blocks. The function adds the text
 * that is not spoken to `unspoken`.
 */
export type PlanSource =
  | { readonly text: string; readonly format: TextFormat | "srt" | "vtt" }
  | { readonly parse: (unspoken: UnspokenList) => ParsedText };

/**
 * Refuses a Markdown text with more headings than a narration may have parts. This check comes first, because planning
 * so many headings would take minutes.
 */
function assertFewHeadings(text: string, format: TextFormat): void {
  if (format !== "markdown") return;
  const headings = text.match(/^ {0,3}#{1,6}\s/gm)?.length ?? 0;
  if (headings <= MAX_PARTS) return;
  throw new AudioError(
    "invalid_request",
    `The text has ${headings} headings, each of which would be a part of its own; a narration has at most ${MAX_PARTS} parts. Nothing was sent.`,
  );
}

const MAX_VOICELESS = 5;

/**
 * Builds remarks on pauses: that pauses written in the text, such as `[pause 2s]`, are kept, and what the pauses
 * between paragraphs cost.
 */
function buildPauseRemarks(
  { parts, hasWrittenPauses }: NarrationPlan,
  { parts: partsWithoutPauses }: NarrationPlan,
  pausesAfterParagraphs: boolean,
): Remark[] {
  const sumCredits = (all: readonly PlannedPart[]): number =>
    Math.round(all.reduce((credits, { estimatedCredits }) => credits + estimatedCredits, 0));
  return [
    ...toRemarks("text", [
      ...(hasWrittenPauses === true ? ["Written pauses such as [pause 2s] are kept as silence."] : []),
      ...(pausesAfterParagraphs && parts.length === 1
        ? ["No pause is added, because the text is one paragraph. A blank line divides paragraphs."]
        : []),
    ]),
    ...toRemarks(
      "whole_text",
      parts.length === partsWithoutPauses.length
        ? []
        : [
            `${parts.length} parts instead of ${partsWithoutPauses.length}: about ${sumCredits(parts)} credits instead of ${sumCredits(partsWithoutPauses)}, because a pause is silence between parts.`,
          ],
    ),
  ];
}

/** Reports names without a voice, the most frequent first, and how the first one gets a voice. */
function buildVoicelessRemarks({ voicelessNames = [] }: NarrationPlan): Remark[] {
  const others = voicelessNames.slice(MAX_VOICELESS);
  const lines = others.reduce((sum, { count }) => sum + count, 0);
  const remarks = voicelessNames.slice(0, MAX_VOICELESS).map(({ name, count }, index): Remark => {
    const begins = `${name} begins ${count} ${count === 1 ? "line" : "lines"} and has no`;
    const step = {
      assistant: `To give ${name} a voice: narrate with the text or file again, and "${name}: voice id" in voices (a free plan).`,
      terminal: `--speaker "${name}=VOICE" gives ${name} a voice.`,
    };
    return {
      about: "text",
      sentence: `${begins} voice in voices: the name will be spoken.`,
      terminal: `${begins} --speaker: the name will be spoken.`,
      ...(index === 0 ? { step } : {}),
    };
  });
  const further = `Names without a voice are these and ${others.length} ${others.length === 1 ? "other" : "others"}, with ${lines} more lines.`;
  return [...remarks, ...toRemarks("text", others.length === 0 ? [] : [further])];
}

/** Finds the speaker of a part by its voice and settings. Returns no speaker if several speakers share them. */
function buildSpeakerField(
  { voice, settings }: PlannedPart,
  voices: SpeakersByName,
): Pick<StoredPart, "speaker"> {
  if (voice === undefined) return {};
  const sound = buildVoiceSettingsKey({ ...settings, voice });
  const [first, ...others] = Object.entries(voices).filter(([, speaker]) => {
    const own = typeof speaker === "string" ? { voice: speaker } : speaker;
    return buildVoiceSettingsKey(own) === sound;
  });
  return first === undefined || others.length > 0 ? {} : { speaker: first[0] };
}

/**
 * Converts a planned part to its stored form, with its words respelled. If no word is respelled, keeps the planner's
 * estimate.
 */
function respellPart(planned: PlannedPart, options: PlanOptions): RespelledPart {
  const { voice = null, settings, ...part } = planned;
  const ownSettings = settings === undefined ? {} : { settings };
  const partToSpeak = applyPronunciations(
    { ...part, voice, ...buildSpeakerField(planned, options.voices), ...ownSettings },
    options,
  );
  if (partToSpeak.part.respelledText !== undefined) return partToSpeak;
  const { estimatedSeconds, estimatedCredits } = planned;
  return { part: { ...partToSpeak.part, estimatedSeconds, estimatedCredits }, words: [] };
}

/**
 * The plan of the whole text, before chapters are chosen. `planWithoutPauses` is the plan of the same text without
 * `pausesAfterParagraphs`. A remark compares the costs of the two plans.
 */
interface WholePlan {
  readonly plan: NarrationPlan;
  readonly planWithoutPauses: NarrationPlan;
  readonly remarks: readonly string[];
  /** When the last cue of subtitles ends. */
  readonly endSeconds?: number;
}

function cutWholeText(source: PlanSource, options: PlanOptions): WholePlan {
  const { settings, voices, pauseSeconds, pausesAfterParagraphs = false } = options;
  const speed = settings.speed ?? 1;
  const planTwice = (
    planWith: (request: Omit<PlanRequest, "text" | "format">) => NarrationPlan,
  ): WholePlan => {
    const request = { speed, pauseSeconds, speakers: voices };
    const plan = planWith({ ...request, pausesAfterParagraphs });
    return { plan, planWithoutPauses: pausesAfterParagraphs ? planWith(request) : plan, remarks: [] };
  };
  if ("parse" in source) return planTwice((request) => planBlocks(source.parse, request));
  const { text, format } = source;
  if (format === "srt" || format === "vtt" || isSubtitles(text)) {
    const kind = format === "srt" || format === "vtt" ? format : null;
    const { plan, remarks, endSeconds } = planTimeline({ text, kind, speed, voices });
    const unused = buildUnusedSettingsRemarks(options, "each cue has its own time");
    return { plan, planWithoutPauses: plan, remarks: [...remarks, ...unused], endSeconds };
  }
  assertFewHeadings(text, format);
  return planTwice((request) => planText({ text, format, ...request }));
}

/**
 * Builds the field `pronunciations` of a stored plan. Returns an object without the field if there are no
 * pronunciations.
 */
export const buildPronunciationsField = ({
  pronunciations = [],
}: PlanOptions): Pick<StoredPlan, "pronunciations"> =>
  pronunciations.length === 0 ? {} : { pronunciations: [...pronunciations] };

/**
 * Plans the whole text, or the chosen chapters.
 *
 * @throws AudioError `invalid_request` if there is nothing to speak, or a chosen chapter does not exist
 */
export function buildStoredPlan(source: PlanSource, options: PlanOptions): StoredPlan {
  const { settings, pauseSeconds, fileLayout, chapters } = options;
  const { remarks, endSeconds, ...whole } = cutWholeText(source, options);
  const choose = (plan: NarrationPlan): NarrationPlan =>
    chapters === undefined ? plan : selectChapters(plan, chapters);
  const plan = choose(whole.plan);
  const planWithoutPauses = choose(whole.planWithoutPauses);
  const silent = buildSilentVoiceRemarks(
    plan.silentSpeakers,
    (name) => `No line begins with ${name} and a colon`,
  );
  const voiceless = buildVoicelessRemarks(plan);
  const title = chooseNarrationTitle(plan).replaceAll(INVISIBLE_CHARACTERS, " ").trim();
  const storedParts = plan.parts.map((part) => respellPart(part, options));
  const parts = storedParts.map(({ part }) => part);
  return {
    version: 1,
    settings,
    pauseSeconds,
    fileLayout,
    title: buildChosenTitle(title, plan),
    ...(plan.chosen === undefined ? {} : { wholeTitle: title }),
    ...(endSeconds === undefined ? {} : { timelineEndSeconds: endSeconds }),
    ...(plan.author === undefined
      ? {}
      : { author: plan.author.replaceAll(INVISIBLE_CHARACTERS, " ").trim() }),
    chapters: plan.chapters.map(({ title, level }) => (level === null ? { title } : { title, level })),
    parts,
    ...buildPronunciationsField(options),
    remarks: [
      ...toRemarks("text", remarks),
      ...buildChosenRemarks(plan),
      buildEdgesRemark(plan),
      ...buildPauseRemarks(plan, planWithoutPauses, options.pausesAfterParagraphs === true),
      ...toRemarks("text", describeRespelledWords([...new Set(storedParts.flatMap(({ words }) => words))])),
      ...buildPlanRemarks(plan, settings.voice),
      ...toRemarks("text", plan.hasTables === true ? ["A table is spoken row by row."] : []),
      ...toRemarks("text", silent),
      ...voiceless,
    ],
    unspoken: plan.unspoken
      .map(buildUnspokenRemark)
      .map((sentence) => (plan.chosen === undefined ? sentence : toRemarkOnWholeText(sentence))),
  };
}
