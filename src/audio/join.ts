/** Joins finished parts into one file of their format without re-encoding; the entry point of this folder. */
import type { OutputFormat } from "../contract/audio-format.ts";
import { internalError } from "../errors.ts";
import type { JoinedAudio, JoinRequest } from "./join-request.ts";
import { joinMp3 } from "./mp3/join-mp3.ts";
import { joinOggOpus } from "./ogg-opus/join-ogg-opus.ts";
import { joinPcm } from "./raw/join-pcm.ts";
import { joinWav } from "./raw/join-wav.ts";

const JOINERS: Readonly<Record<OutputFormat, (request: JoinRequest) => Promise<JoinedAudio>>> = {
  mp3: joinMp3,
  wav: joinWav,
  pcm: joinPcm,
  ogg_opus: joinOggOpus,
};

/** Converts a title to one line; returns undefined if nothing is left of it. */
function toOneLine(title: string | undefined): string | undefined {
  const line = title
    ?.toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  return line === "" ? undefined : line;
}

/**
 * Describes what is wrong with a request; undefined if the request is valid. An invalid request is always a bug of this
 * program.
 */
function findRequestBug({ parts, chapters }: JoinRequest): string | undefined {
  if (parts.length === 0) return "there is no part to join";
  const isPause = (seconds: number): boolean => Number.isFinite(seconds) && seconds >= 0;
  if (!parts.every(({ pauseAfterSeconds }) => isPause(pauseAfterSeconds)))
    return "a pause is not a number of seconds";
  if (!parts.every(({ startSeconds = 0 }) => isPause(startSeconds)))
    return "a start is not a number of seconds";
  const firstParts = chapters.map(({ firstPart }) => firstPart);
  const isRising = firstParts.every((first, index) => first > (firstParts[index - 1] ?? -1));
  if (!isRising || !firstParts.every((first) => Number.isInteger(first) && first < parts.length)) {
    return "the chapters do not begin with parts in rising order";
  }
  return undefined;
}

/**
 * Joins parts. Reads each part twice, first to measure it and then to copy it, and writes the file in one pass. Each
 * part sounds in the file exactly as it does alone. The memory needed does not grow with the duration. Titles, author
 * and album are each converted to one line.
 *
 * @throws DamagedPartError if a part cannot be read as its format
 * @throws PartsDifferError if the parts cannot share a file
 * @throws the reason of the signal, and any error of `write`
 */
export async function joinAudio(request: JoinRequest): Promise<JoinedAudio> {
  const bug = findRequestBug(request);
  if (bug !== undefined) throw internalError(new RangeError(bug));
  return JOINERS[request.format]({
    ...request,
    title: toOneLine(request.title),
    author: toOneLine(request.author),
    album: toOneLine(request.album),
    // Use the chapter's number in place of a missing title, because players show an untitled chapter as an empty
    // line.
    chapters: request.chapters.map(({ title, firstPart }, index) => ({
      title: toOneLine(title) ?? `${index + 1}`,
      firstPart,
    })),
  });
}
