/** Writes chapters for players that read them from a separate file (Podcasting 2.0, JSON chapters 1.2.0). */
import { roundToMilliseconds } from "../../contract/decimal.ts";
import type { JoinedChapter } from "../join-request.ts";

/** Returns the content of a `.chapters.json` file. Its times are in seconds. */
export function buildChaptersJson(title: string | undefined, chapters: readonly JoinedChapter[]): string {
  const chapterRows = chapters.map(({ title: name, startSeconds, endSeconds }) => ({
    startTime: roundToMilliseconds(startSeconds),
    endTime: roundToMilliseconds(endSeconds),
    title: name,
  }));
  return `${JSON.stringify({ version: "1.2.0", ...(title === undefined ? {} : { title }), chapters: chapterRows }, null, 2)}\n`;
}
