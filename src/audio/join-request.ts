/** Input and output of a joiner, the same for every format. */
import type { OutputFormat } from "../contract/audio-format.ts";
import type { WriteBytes } from "./output.ts";

/** One finished file, to be joined with others of its format. */
export interface JoinPart {
  readonly path: string;
  /** As the service states it; only raw pcm needs it, because pcm has no header. */
  readonly durationSeconds: number;
  /** As it was asked for; only raw pcm needs it. */
  readonly sampleRateHz: number;
  /** Silence after the part, also after the last one; 0 adds only what the format needs between two parts. */
  readonly pauseAfterSeconds: number;
  /** Where its sound begins in the joined file; as soon as possible where that time has passed. Absent: after the pause. */
  readonly startSeconds?: number | undefined;
}

/** A place where players may jump to; it lasts until the next one, or to the end. */
export interface ChapterMark {
  readonly title: string;
  /** The part that it begins with, counted from 0; each mark's is greater than that of the mark before. */
  readonly firstPart: number;
}

export interface JoinRequest {
  readonly format: OutputFormat;
  /** At least one. */
  readonly parts: readonly JoinPart[];
  /** Written into mp3 and ogg_opus; for the others they only come back with their times. */
  readonly chapters: readonly ChapterMark[];
  /** Written into all but pcm, which has no place for it; so is the author. */
  readonly title?: string | undefined;
  readonly author?: string | undefined;
  /** Takes the joined file from its first byte to its last. The bytes are only lent until its promise is fulfilled. */
  readonly write: WriteBytes;
  readonly signal?: AbortSignal | undefined;
}

/** Where something lies in the joined file, in seconds from its beginning. */
export interface Span {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

export interface JoinedChapter extends Span {
  readonly title: string;
}

export interface JoinedAudio {
  /** How long the file plays. */
  readonly durationSeconds: number;
  readonly sizeBytes: number;
  /** Where the sound of each part lies, to the sample, in the order of the parts. */
  readonly parts: readonly Span[];
  readonly chapters: readonly JoinedChapter[];
}

/** When each chapter begins and ends. */
export function chapterSpans(
  chapters: readonly ChapterMark[],
  parts: readonly Span[],
  durationSeconds: number,
): JoinedChapter[] {
  const starts = chapters.map(({ firstPart }) => parts[firstPart]?.startSeconds ?? durationSeconds);
  return chapters.map(({ title }, index) => ({
    title,
    startSeconds: starts[index] ?? durationSeconds,
    endSeconds: starts[index + 1] ?? durationSeconds,
  }));
}
