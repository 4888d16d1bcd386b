/** What lies beside a narration's file: its captions, and its chapters for players that read them from a file. */
import { basename, extname } from "node:path";
import { makeCaptions } from "../audio/captions/captions.ts";
import { chaptersJson } from "../audio/captions/chapters.ts";
import type { JoinedAudio, JoinPart } from "../audio/join.ts";
import type { OutputFormat } from "../contract/audio-format.ts";
import { estimateSeconds } from "../contract/estimate.ts";
import type { OutputFolder } from "../files/output-folder.ts";
import { saveText } from "../files/save-text.ts";
import type { SavedFile } from "../files/saved-file.ts";
import type { NarrationFile } from "./narration-state.ts";
import { sentencesOf } from "./plan/sentences.ts";

export interface CompanionOrder {
  readonly folder: OutputFolder;
  readonly saved: SavedFile;
  readonly format: OutputFormat;
  readonly title: string;
  readonly sources: readonly JoinPart[];
  /** Of each source, as it is spoken. */
  readonly texts: readonly string[];
  readonly joined: JoinedAudio;
  readonly signal: AbortSignal;
}

/** Saves `NAME.vtt`, and `NAME.chapters.json` where there are chapters, under the name that the audio got. */
export async function makeCompanions(
  order: CompanionOrder,
): Promise<Pick<NarrationFile, "captionsPath" | "chaptersPath">> {
  const { folder, saved, format, title, sources, texts, joined, signal } = order;
  const stem = basename(saved.path, extname(saved.path));
  const parts = sources.map(({ path, durationSeconds, sampleRateHz }, index) => ({
    path,
    durationSeconds,
    sampleRateHz,
    span: joined.parts[index] ?? { startSeconds: 0, endSeconds: 0 },
    sentences: sentencesOf(texts[index] ?? "").map((text) => ({ text, weight: estimateSeconds(text) })),
  }));
  const captions = await makeCaptions({ format, parts, signal });
  const chaptersPath =
    joined.chapters.length === 0
      ? null
      : await saveText(folder, `${stem}.chapters.json`, chaptersJson(title, joined.chapters));
  return { chaptersPath, captionsPath: await saveText(folder, `${stem}.vtt`, captions) };
}
