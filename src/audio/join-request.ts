/** Input and output of a joiner, the same for every format. */
import type { OutputFormat } from "../contract/audio-format.ts";
import type { WriteBytes } from "./output.ts";

/** One finished file, to be joined with others of its format. */
export interface JoinPart {
  readonly path: string;
  /** Length in seconds as the service states it. Only raw pcm needs it, because pcm has no header. */
  readonly durationSeconds: number;
  /** The rate that was requested. Only raw pcm needs it, because pcm has no header. */
  readonly sampleRateHz: number;
  /** Silence after the part, including the last part; 0 adds only what the format needs between two parts. */
  readonly pauseAfterSeconds: number;
  /** When its sound begins in the joined file, or as soon as possible if the part before ends later. Absent: after the pause. */
  readonly startSeconds?: number | undefined;
}

/** The beginning of a chapter, which lasts until the next mark or to the end. */
export interface ChapterMark {
  readonly title: string;
  /** Index of its first part; greater than that of the mark before. */
  readonly firstPart: number;
}

export interface JoinRequest {
  readonly format: OutputFormat;
  /** At least one part. */
  readonly parts: readonly JoinPart[];
  /** Written into mp3 and ogg_opus; for other formats only returned with their times. */
  readonly chapters: readonly ChapterMark[];
  /** Written into every format except pcm, which has no metadata; so is the author. */
  readonly title?: string | undefined;
  readonly author?: string | undefined;
  /** Receives the joined file from its first byte to its last. The buffer may be reused once the promise is fulfilled. */
  readonly write: WriteBytes;
  readonly signal?: AbortSignal | undefined;
}

/** A time span of the joined file, in seconds from its beginning. */
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
  /** The span of the sound of each part, exact to the sample, in the order of the parts. */
  readonly parts: readonly Span[];
  readonly chapters: readonly JoinedChapter[];
}

/** Computes when each chapter begins and ends. */
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
