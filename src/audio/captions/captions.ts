/**
 * Makes captions (WebVTT, SubRip) for a joined file from the sentences of its parts, and chapters for players that read
 * them from a file of their own (Podcasting 2.0, JSON chapters 1.2.0).
 */
import type { OutputFormat } from "../../contract/audio-format.ts";
import { roundToMilliseconds } from "../../contract/numbers.ts";
import { formatClockTime, type JoinedChapter, type Span } from "../join-request.ts";
import { mapParts } from "../part-file.ts";
import { measureCueWeight, splitIntoCueTexts } from "./cue-text.ts";
import { timeSentences } from "./sentence-times.ts";
import { findSilences, type Silence } from "./silences.ts";

export interface SpokenSentence {
  readonly text: string;
  /** Approximate speaking time in seconds; only the ratio to other sentences matters. */
  readonly weight: number;
}

export interface CaptionedPart {
  readonly path: string;
  /** Duration of the part in seconds, as passed to {@link joinAudio}. */
  readonly durationSeconds: number;
  readonly sampleRateHz: number;
  /** Position of the part in the joined file, as {@link joinAudio} returned it. */
  readonly span: Span;
  readonly speaker?: string | undefined;
  /** Duration of the silence at the beginning of the part in seconds; 0 if absent. No caption covers this silence. */
  readonly leadSeconds?: number | undefined;
  /** All sentences of the part, in order. */
  readonly sentences: readonly SpokenSentence[];
}

export interface CaptionRequest {
  readonly format: OutputFormat;
  readonly parts: readonly CaptionedPart[];
  readonly signal?: AbortSignal | undefined;
}

const VTT_NOTE = `NOTE
Each part of the audio begins and ends exactly where its captions do. Inside a part, a caption
whose identifier has no "~" begins where a silence in the audio ends. One whose identifier ends in
"~" begins at a time estimated from the length of its text.`;

const escapeMarkup = (line: string): string =>
  line.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

interface Cue extends Span {
  readonly lines: readonly string[];
  readonly speaker: string | undefined;
  readonly isMeasured: boolean;
}

function cutIntoCues(part: CaptionedPart, silences: readonly Silence[]): Cue[] {
  const { startSeconds, endSeconds } = part.span;
  const sentences = part.sentences
    .map(({ text, weight }) => ({
      texts: splitIntoCueTexts(text),
      weight: weight > 0 ? weight : Number.MIN_VALUE,
    }))
    .filter(({ texts }) => texts.length > 0);
  if (sentences.length === 0) return [];
  const times = timeSentences(
    sentences.map(({ weight }) => weight),
    endSeconds - startSeconds,
    silences,
  );
  return sentences.flatMap(({ texts }, sentence) => {
    const time = times[sentence];
    if (time === undefined) return [];
    const cueTimes = timeSentences(texts.map(measureCueWeight), time.endSeconds - time.startSeconds, []);
    const sentenceStart = startSeconds + time.startSeconds;
    return texts.map((lines, index) => ({
      lines,
      speaker: part.speaker,
      startSeconds:
        sentenceStart +
        (sentence === 0 && index === 0 ? (part.leadSeconds ?? 0) : (cueTimes[index]?.startSeconds ?? 0)),
      endSeconds: sentenceStart + (cueTimes[index]?.endSeconds ?? 0),
      isMeasured: index === 0 && time.isMeasured,
    }));
  });
}

/**
 * Rounds times to milliseconds. Each cue lasts at least 1 ms and does not begin before the previous cue ends, as the
 * formats require.
 */
function toWholeMilliseconds(
  cues: readonly Cue[],
): ReadonlyArray<Cue & { readonly startMs: number; readonly endMs: number }> {
  let passedMs = 0;
  return cues.map((cue) => {
    const startMs = Math.max(passedMs, Math.round(cue.startSeconds * 1000));
    const endMs = Math.max(startMs + 1, Math.round(cue.endSeconds * 1000));
    passedMs = endMs;
    return { ...cue, startMs, endMs };
  });
}

function renderVtt(cues: readonly Cue[]): string {
  const blocks = toWholeMilliseconds(cues).map(({ lines, speaker, startMs, endMs, isMeasured }, index) => {
    const identifier = `${index + 1}${isMeasured ? "" : "~"}`;
    // A WebVTT voice tag that spans the whole cue needs no closing tag.
    const voice = speaker === undefined ? "" : `<v ${escapeMarkup(speaker)}>`;
    const text = `${voice}${lines.map(escapeMarkup).join("\n")}`;
    return [identifier, `${formatClockTime(startMs)} --> ${formatClockTime(endMs)}`, text].join("\n");
  });
  return ["WEBVTT", VTT_NOTE, ...blocks, ""].join("\n\n").replace(/\n+$/, "\n");
}

/** Renders SubRip. Omits speakers and notes, because SubRip has neither. */
function renderSrt(cues: readonly Cue[]): string {
  const blocks = toWholeMilliseconds(cues).map(({ lines, startMs, endMs }, index) => {
    const times = `${formatClockTime(startMs)} --> ${formatClockTime(endMs)}`.replaceAll(".", ",");
    return [`${index + 1}`, times, ...lines].join("\n");
  });
  return `${blocks.join("\n\n")}\n`;
}

/** The same captions in both formats. Each string is the content of a complete file. */
export interface Captions {
  readonly vtt: string;
  readonly srt: string;
}

/**
 * Makes captions for a joined file: one cue per sentence, or several for a long sentence. Each cue has at most two
 * lines of 42 columns. The times at which parts begin and end are exact. Inside a part, the times of sentences come
 * from the silences in the sound. Where no silence is found, times are estimated from the weights of the sentences.
 *
 * @param request the parts with their sentences. Each sentence must lie within one paragraph, so that no cue spans two
 *   paragraphs
 * @throws DamagedPartError if a part cannot be read
 * @throws the reason of the signal, if the signal is aborted
 */
export async function makeCaptions(request: CaptionRequest): Promise<Captions> {
  const { format, parts, signal } = request;
  const cues = await mapParts(format, parts, signal, async (file, part) =>
    cutIntoCues(part, part.sentences.length < 2 ? [] : await findSilences(format, file, part)),
  );
  return { vtt: renderVtt(cues.flat()), srt: renderSrt(cues.flat()) };
}

/** Returns the content of a `.chapters.json` file. Its times are in seconds. */
export function buildChaptersJson(title: string | undefined, chapters: readonly JoinedChapter[]): string {
  const chapterRows = chapters.map(({ title: name, startSeconds, endSeconds }) => ({
    startTime: roundToMilliseconds(startSeconds),
    endTime: roundToMilliseconds(endSeconds),
    title: name,
  }));
  return `${JSON.stringify({ version: "1.2.0", ...(title === undefined ? {} : { title }), chapters: chapterRows }, null, 2)}\n`;
}
