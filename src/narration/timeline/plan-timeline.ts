/**
 * Plans subtitles. The cues of one sentence become one part, which begins at the time of the first cue
 * (docs/reference-narrations.md, Subtitles).
 */
import { AudioError } from "../../errors.ts";
import { UnspokenList } from "../text/blocks.ts";
import { hasWords } from "../text/characters.ts";
import { findSentenceStarts } from "../text/cutting/sentences.ts";
import { splitIntoParts } from "../text/cutting/split.ts";
import { flowParagraph, HARD_BREAK } from "../text/normalize.ts";
import { assertSpeakable } from "../text/plan-text.ts";
import {
  CUTTING_RULES_VERSION,
  MAX_PARTS,
  type NarrationPlan,
  type PlannedPart,
  type Speaker,
  type SpeakersByName,
} from "../text/plan-types.ts";
import { buildPlannedPart, chooseSpeed } from "../text/planned-part.ts";
import { SpeakerLabels } from "../text/speakers/speaker-labels.ts";
import { type CueWords, cleanCueWords, joinSplitBrackets } from "./cue-words.ts";
import { type Cue, parseCues } from "./parse-cues.ts";

export interface TimelineRequest {
  readonly text: string;
  /** The extension of the file; `null` for a pasted text. */
  readonly kind: "srt" | "vtt" | null;
  readonly speed: number;
  readonly voices: SpeakersByName;
}

export interface TimelinePlan {
  readonly plan: NarrationPlan;
  /** Remarks on the cues, in whole sentences. */
  readonly remarks: readonly string[];
  /** When the last cue ends. */
  readonly endSeconds: number;
}

/** Minimum silence between two cues after which the second cue begins a new sentence. */
const SENTENCE_GAP_SECONDS = 1.5;
/** Maximum length of a sentence. It is short, so that the speech does not drift away from the picture. */
const MAX_SENTENCE_SECONDS = 20;
/**
 * If at least this share of the utterances contains a mark that ends a sentence, such as a full stop, a sentence may
 * extend over several cues. With a smaller share, each cue counts as one sentence.
 */
const MARKS_SHARE = 0.1;
const SENTENCE_END = /[.!?…](?=[”’"'»)\s]|$)|[。！？．｡]/;
const UNKNOWN_SHOWN = 10;

/** The words of one voice in one cue. */
interface Utterance {
  readonly cue: Cue;
  /** Whether the utterance begins its cue. */
  readonly isFirst: boolean;
  readonly speaker: Speaker | null;
  /** How the speaker is marked. After a dash, the utterance never continues a sentence of the previous cue. */
  readonly mark: "none" | "name" | "dash";
  readonly text: string;
}

/** The words of one sentence, from one or more cues. */
interface Sentence {
  readonly cue: Cue;
  readonly isFirst: boolean;
  readonly speaker: Speaker | null;
  text: string;
  endSeconds: number;
}

/**
 * Plans subtitles.
 *
 * @throws AudioError `invalid_request` if a cue is invalid, or there is nothing to speak
 */
export function planTimeline({ text, kind, speed, voices }: TimelineRequest): TimelinePlan {
  assertSpeakable(text);
  const unspoken = new UnspokenList();
  const cuesFile = parseCues(text, unspoken);
  const speakers = new SpeakerLabels(voices);
  const unknown = new Map<string, number>();
  const utterances = buildUtterances(cuesFile.cues, { voices, speakers, unknown, unspoken });
  const hasMarks =
    utterances.filter((utterance) => SENTENCE_END.test(utterance.text)).length >=
    MARKS_SHARE * utterances.length;
  const sentences = joinIntoSentences(utterances, hasMarks);
  const parts = sentences.flatMap((sentence) => buildParts(sentence, speed));
  if (parts.length === 0) {
    throw new AudioError("invalid_request", "The subtitles hold nothing to speak. Nothing was sent.");
  }
  if (parts.length > MAX_PARTS) {
    throw new AudioError(
      "invalid_request",
      `The subtitles come to ${parts.length} parts, and a narration has at most ${MAX_PARTS}. Nothing was sent.`,
    );
  }
  const voiceless = speakers.listVoicelessNames();
  const plan = {
    version: CUTTING_RULES_VERSION,
    chapters: [{ title: null, level: null }],
    parts,
    unspoken: unspoken.rows(),
    silentSpeakers: speakers.listSilentSpeakers(),
    ...(voiceless.length === 0 ? {} : { voicelessNames: voiceless }),
  } as const;
  const endSeconds = sentences.reduce((end, sentence) => Math.max(end, sentence.endSeconds), 0);
  const remarks = [
    `Subtitles: ${cuesFile.cues.length} ${cuesFile.cues.length === 1 ? "cue" : "cues"} in ${parts.length} ${parts.length === 1 ? "part" : "parts"}, each at the time of its first cue, on a timeline of ${formatTimestamp(endSeconds)}.`,
    ...(kind === null || kind === cuesFile.kind
      ? []
      : [
          `The file is called .${kind} and holds ${cuesFile.kind === "srt" ? "SubRip" : "WebVTT"}, as which it is read.`,
        ]),
    ...(cuesFile.backwardsCueCount === 0
      ? []
      : [
          `${cuesFile.backwardsCueCount === 1 ? "1 cue begins" : `${cuesFile.backwardsCueCount} cues begin`} before the one above; cues are spoken in the order of their times.`,
        ]),
    ...buildOverlapRemarks(cuesFile.cues),
    ...(hasMarks || utterances.length < 2 ? [] : ["No marks end its sentences, so each cue is a part."]),
    ...buildUnknownLabelRemarks(unknown),
    ...(Object.keys(voices).length === 0 && voiceless.length === 0 ? buildLabelRemarks(utterances) : []),
  ];
  return { plan, remarks, endSeconds };
}

/** Formats a time such as "0:01:14". */
function formatTimestamp(seconds: number): string {
  const pad = (value: number): string => `${Math.floor(value % 60)}`.padStart(2, "0");
  return `${Math.floor(seconds / 3600)}:${pad(seconds / 60)}:${pad(seconds)}`;
}

/** Maximum overlap that is not reported. Programs that convert frame rates round times by as much. */
const MAX_UNREPORTED_OVERLAP_SECONDS = 0.1;

/** Names the cues that begin before an earlier cue has ended. */
function buildOverlapRemarks(cues: readonly Cue[]): string[] {
  let endSeconds = 0;
  const overlapping = cues.filter((cue) => {
    const overlaps = endSeconds - cue.startSeconds > MAX_UNREPORTED_OVERLAP_SECONDS;
    endSeconds = Math.max(endSeconds, cue.endSeconds);
    return overlaps && cue.lines.length > 0;
  });
  if (overlapping.length === 0) return [];
  const names = overlapping.slice(0, UNKNOWN_SHOWN).map(({ name }) => name);
  const further = overlapping.length - names.length;
  return [
    `${overlapping.length === 1 ? "1 cue overlaps the one before: cue" : `${overlapping.length} cues overlap the one before: cues`} ${names.join(", ")}${further > 0 ? ` and ${further} others` : ""}. They are spoken one after the other.`,
  ];
}

const CAPITALS_LABEL = /^(\p{Lu}[\p{Lu}\p{N}.'’ -]{0,30}[\p{Lu}\p{N}.'’]) *:\s/u;
const MIN_LABELS = 2;

/** Reports names that will be spoken because no voices are given. */
function buildLabelRemarks(spoken: readonly Utterance[]): string[] {
  const names = spoken.flatMap(({ text }) => CAPITALS_LABEL.exec(text)?.[1] ?? []);
  if (names.length < MIN_LABELS) return [];
  const shownNames = [...new Set(names)].slice(0, UNKNOWN_SHOWN).join(", ");
  return [
    `${names.length} cues begin with a name (${shownNames}), which is spoken unless voices gives it a voice.`,
  ];
}

function buildUnknownLabelRemarks(unknown: ReadonlyMap<string, number>): string[] {
  if (unknown.size === 0) return [];
  const names = [...unknown]
    .slice(0, UNKNOWN_SHOWN)
    .map(([name, count]) => `${JSON.stringify(name)} (${count})`);
  return [
    `Its cues name speakers that voices does not, and that the narration’s own voice speaks: ${names.join(", ")}${unknown.size > UNKNOWN_SHOWN ? " and others" : ""}.`,
  ];
}

interface UtteranceContext {
  readonly voices: SpeakersByName;
  readonly speakers: SpeakerLabels;
  /** Speaker names that `voices` does not contain, each with its number of cues. */
  readonly unknown: Map<string, number>;
  readonly unspoken: UnspokenList;
}

function buildUtterances(
  cues: readonly Cue[],
  { voices, speakers, unknown, unspoken }: UtteranceContext,
): Utterance[] {
  const names = new Set(Object.keys(voices).map((name) => name.toLowerCase()));
  const isKnown = (name: string): boolean => names.has(name.toLowerCase());
  const linesOfCues = joinSplitBrackets(cues);
  const words = withoutRepeats(
    cues.map((cue, index) => {
      const words = cleanCueWords(linesOfCues[index] ?? [], isKnown, unspoken);
      if (cue.lines.length === 0) unspoken.add("empty_cue", `cue ${cue.name}`);
      return words;
    }),
    unspoken,
  );
  speakers.collectLabels(words.flatMap((said) => said.map(({ text }) => text)));
  const utterances: Utterance[] = [];
  let currentSpeaker: Speaker | null = null;
  /** The speaker of a label that is alone in its cue, who speaks the next one. */
  let announcedSpeaker: Speaker | null = null;
  for (const [index, cue] of cues.entries()) {
    let isFirst = true;
    for (const { name, text } of words[index] ?? []) {
      const hasVoice = name !== null && isKnown(name);
      if (name !== null && !hasVoice) unknown.set(name, (unknown.get(name) ?? 0) + 1);
      for (const [lineIndex, line] of text.split(HARD_BREAK).entries()) {
        const turns = speakers.splitIntoTurns(
          hasVoice && lineIndex === 0 ? `${name}: ${line}` : line,
          unspoken,
        );
        for (const turn of turns) {
          const heard = flowParagraph(turn.text);
          const isOpen = !turn.isLabelled && name === null && lineIndex === 0;
          if (!isOpen) currentSpeaker = turn.speaker;
          if (!hasWords(heard)) {
            if (turn.isLabelled) announcedSpeaker = turn.speaker;
            continue;
          }
          const announced = isOpen ? announcedSpeaker : null;
          const voice = turn.speaker ?? announced ?? (speakers.hasContinuingTurns ? currentSpeaker : null);
          announcedSpeaker = null;
          const isNamed = turn.isLabelled || (name !== null && lineIndex === 0);
          const mark = isOpen ? "none" : isNamed ? "name" : "dash";
          utterances.push({ cue, isFirst, speaker: voice, mark, text: heard });
          isFirst = false;
        }
      }
    }
  }
  return utterances;
}

const REPEATS_SHARE = 0.3;

/**
 * Removes lines that repeat the last line of the cue above, as roll-up captions do. If only few cues repeat a line,
 * changes nothing, because the repetition is intended. Evidence: share.
 */
function withoutRepeats(words: readonly CueWords[][], unspoken: UnspokenList): readonly CueWords[][] {
  const splitCueLines = (said: readonly CueWords[] | undefined): string[] =>
    (said ?? []).flatMap(({ text }) => text.split("\n"));
  const repeated = words.map((said, index) => {
    const [first] = splitCueLines(said);
    return (
      first !== undefined &&
      first.trim() ===
        splitCueLines(words[index - 1])
          .at(-1)
          ?.trim()
    );
  });
  const count = words.filter(
    (said, index) => repeated[index] === true && splitCueLines(said).length > 1,
  ).length;
  if (count < 2 || count < REPEATS_SHARE * words.length) return words;
  return words.map((said, index) => {
    const [first, ...others] = said;
    if (repeated[index] !== true || first === undefined) return said;
    const [line = "", ...rest] = first.text.split("\n");
    unspoken.add("repeat", line);
    return rest.length === 0 ? others : [{ ...first, text: rest.join("\n") }, ...others];
  });
}

function joinIntoSentences(utterances: readonly Utterance[], hasMarks: boolean): Sentence[] {
  const sentences: Sentence[] = [];
  for (const { cue, isFirst, speaker, mark, text } of utterances) {
    const last = sentences.at(-1);
    if (last !== undefined && !isFirst && last.speaker === speaker) {
      last.text = `${last.text}\n${text}`;
      continue;
    }
    const isSameVoice = mark !== "dash" && (last?.speaker === speaker || mark === "none");
    if (last !== undefined && isFirst && hasMarks && isSameVoice && continuesSentence(last, cue, text)) {
      last.text = flowParagraph(`${last.text.replaceAll("\n", HARD_BREAK)}\n${text}`);
      last.endSeconds = Math.max(last.endSeconds, cue.endSeconds);
      continue;
    }
    sentences.push({ cue, isFirst, speaker, text, endSeconds: cue.endSeconds });
  }
  return sentences;
}

function continuesSentence(last: Sentence, cue: Cue, text: string): boolean {
  if (cue.startSeconds - last.endSeconds >= SENTENCE_GAP_SECONDS) return false;
  if (cue.endSeconds - last.cue.startSeconds > MAX_SENTENCE_SECONDS) return false;
  return !findSentenceStarts(`${last.text} ${text}`).includes(last.text.length + 1);
}

/**
 * Builds the parts of a sentence: several parts if the text is too long for one task. Only the first part has a time.
 */
function buildParts({ cue, isFirst, speaker, text }: Sentence, narrationSpeed: number): PlannedPart[] {
  return splitIntoParts([text], chooseSpeed(speaker, narrationSpeed))
    .filter((partText) => hasWords(partText.text))
    .map((partText, textIndex) =>
      buildPlannedPart(partText, speaker, narrationSpeed, {
        chapterIndex: 0,
        pauseAfterSeconds: 0,
        ...(isFirst && textIndex === 0 ? { startSeconds: cue.startSeconds, cue: cue.name } : {}),
      }),
    );
}
