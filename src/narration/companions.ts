/** Makes the companions of a narration's file: captions, and a chapter file for players. */
import { basename } from "node:path";
import { makeCaptions } from "../audio/captions/captions.ts";
import { buildChaptersJson } from "../audio/captions/chapters.ts";
import type { JoinedAudio, JoinPart } from "../audio/join-request.ts";
import type { CaptionFiles } from "../config/settings.ts";
import type { OutputFormat } from "../contract/audio-format.ts";
import { estimateSeconds } from "../contract/estimate.ts";
import { appendToStem } from "../files/file-name.ts";
import type { OutputFolder } from "../files/output-folder.ts";
import { type SavedText, saveText } from "../files/save-text.ts";
import type { SavedFile } from "../files/saved-file.ts";
import type { FileRow } from "../ledger/schema.ts";
import type { StoredPart } from "./planning/stored-plan.ts";
import { splitSentences } from "./text/cutting/sentences.ts";

export interface CompanionRequest {
  readonly folder: OutputFolder;
  readonly captionFiles: CaptionFiles;
  readonly saved: SavedFile;
  readonly format: OutputFormat;
  readonly title: string;
  readonly sources: readonly JoinPart[];
  /** Text and speaker of each part in `sources`. */
  readonly plannedParts: ReadonlyArray<Pick<StoredPart, "text" | "speaker">>;
  readonly joined: JoinedAudio;
  /** Seconds of silence at the start of each part of a timeline; empty for narrations without a timeline. */
  readonly leadingSilenceSeconds: readonly number[];
  readonly signal: AbortSignal;
}

/** A saved companion, and what it is. If captions are saved in both forms, WebVTT is `captions` and SubRip is `srt`. */
export interface Companion {
  readonly kind: FileRow["kind"];
  readonly file: SavedText;
}

/** Saves the captions under the name of the audio, and also `NAME.chapters.json` if there are chapters. */
export async function makeCompanions(request: CompanionRequest): Promise<Companion[]> {
  const {
    folder,
    captionFiles,
    saved,
    format,
    title,
    sources,
    plannedParts: spoken,
    joined,
    leadingSilenceSeconds,
    signal,
  } = request;
  const name = basename(saved.path);
  const parts = sources.map(({ path, durationSeconds, sampleRateHz }, index) => ({
    path,
    durationSeconds,
    sampleRateHz,
    span: joined.parts[index] ?? { startSeconds: 0, endSeconds: 0 },
    speaker: spoken[index]?.speaker,
    leadSeconds: leadingSilenceSeconds[index],
    sentences: splitSentences(spoken[index]?.text ?? "").map((text) => ({
      text,
      weight: estimateSeconds(text),
    })),
  }));
  const captions = await makeCaptions({ format, parts, signal });
  const companions: Companion[] = [];
  const save = async (
    kind: Companion["kind"],
    words: string,
    extension: string,
    text: string,
  ): Promise<void> => {
    companions.push({ kind, file: await saveText(folder, appendToStem(name, words, extension), text) });
  };
  if (joined.chapters.length > 0)
    await save("chapters", ".chapters", ".json", buildChaptersJson(title, joined.chapters));
  const main = captionFiles === "both" ? "vtt" : captionFiles;
  await save("captions", "", `.${main}`, captions[main]);
  if (captionFiles === "both") await save("srt", "", ".srt", captions.srt);
  return companions;
}
