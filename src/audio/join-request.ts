/** Defines the input and the output of a join, and the tags that players show. They are the same for every format. */
import type { OutputFormat } from "../contract/audio-format.ts";
import type { WriteBytes } from "./buffered-writer.ts";

/** One finished file, to be joined with others of its format. */
export interface JoinPart {
  readonly path: string;
  /** Duration in seconds, as the service states it. Only pcm needs it, because pcm has no header. */
  readonly durationSeconds: number;
  /** Requested sample rate. Only pcm needs it, because pcm has no header. */
  readonly sampleRateHz: number;
  /**
   * Duration of the silence after the part in seconds. Applies to the last part too. If 0, the join adds only the
   * silence that the format needs between two parts.
   */
  readonly pauseAfterSeconds: number;
  /**
   * Earliest time in the joined file at which the part's sound begins. If absent, the sound begins after the previous
   * part's pause.
   */
  readonly startSeconds?: number | undefined;
}

/** The beginning of a chapter. The chapter lasts until the next chapter begins or the file ends. */
export interface ChapterMark {
  readonly title: string;
  /** Index of the chapter's first part. Must be greater than the previous chapter's index. */
  readonly firstPart: number;
}

/**
 * The files to join, and the settings of the join. The tags are written into every format except pcm, which cannot hold
 * tags.
 */
export interface JoinRequest extends TextTags {
  readonly format: OutputFormat;
  /** The parts to join, at least one. */
  readonly parts: readonly JoinPart[];
  /**
   * Chapters to write into mp3 and ogg_opus. Files of other formats contain no chapters; only the result states them.
   */
  readonly chapters: readonly ChapterMark[];
  /** Receives the bytes of the joined file in order. The buffer is reused once the returned promise is fulfilled. */
  readonly write: WriteBytes;
  readonly signal?: AbortSignal | undefined;
}

/** A time span of the joined file, in seconds from its beginning. */
export interface Span {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** Formats a time such as `01:02:03.456`. The hours have as many digits as they need, but at least two. */
export function formatClockTime(milliseconds: number): string {
  const hours = `${Math.floor(milliseconds / 3_600_000)}`.padStart(2, "0");
  return `${hours}${new Date(milliseconds).toISOString().slice(13, 23)}`;
}

export interface JoinedChapter extends Span {
  readonly title: string;
}

export interface JoinedAudio {
  readonly durationSeconds: number;
  readonly sizeBytes: number;
  /** The span of each part's sound, exact to the sample, in the order of the parts. */
  readonly parts: readonly Span[];
  readonly chapters: readonly JoinedChapter[];
}

/** Computes when each chapter begins and ends. */
export function computeChapterSpans(
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

export interface TextTags {
  readonly title?: string | undefined;
  readonly author?: string | undefined;
  /** Title of the whole narration, if this file is one of its chapters. */
  readonly album?: string | undefined;
  /** Position among the files of the album, as in `3/12`. */
  readonly track?: string | undefined;
}

/** Returns the name and value of each tag that has a value. `names` has the format's name for each tag. */
export function buildTextTags(
  { title, author, album, track }: TextTags,
  names: Readonly<Record<keyof TextTags, string>>,
): ReadonlyArray<readonly [name: string, value: string]> {
  const values = { title, author, album, track };
  return (["title", "author", "album", "track"] as const).flatMap((key) => {
    const value = values[key];
    return value === undefined ? [] : [[names[key], value] as const];
  });
}
