/** Makes the companions of a narration's file: captions, and a chapter file for players. */
import { basename } from "node:path";
import { type Captions, makeCaptions } from "../../audio/captions/captions.ts";
import { buildChaptersJson } from "../../audio/captions/chapters.ts";
import type { JoinedAudio, JoinPart } from "../../audio/join-request.ts";
import type { CaptionFiles } from "../../config/settings.ts";
import type { OutputFormat } from "../../contract/audio-format.ts";
import { estimateSeconds } from "../../contract/estimate.ts";
import { appendToStem } from "../../files/file-name.ts";
import type { OutputFolder } from "../../files/output-folder.ts";
import { saveText } from "../../files/save-text.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import type { NarrationFile, StoredPart } from "../state/narration-state.ts";
import { splitSentences } from "../text/cutting/sentences.ts";

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

/** Saves the captions under the name of the audio, and also `NAME.chapters.json` if there are chapters. */
export async function makeCompanions(
  request: CompanionRequest,
): Promise<Pick<NarrationFile, "captionsFile" | "srtFile" | "chaptersFile">> {
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
  const chapters =
    joined.chapters.length === 0
      ? null
      : await saveText(
          folder,
          appendToStem(name, ".chapters", ".json"),
          buildChaptersJson(title, joined.chapters),
        );
  const save = async (form: keyof Captions): Promise<NonNullable<NarrationFile["captionsFile"]>> =>
    await saveText(folder, appendToStem(name, "", `.${form}`), captions[form]);
  if (captionFiles !== "both") return { chaptersFile: chapters, captionsFile: await save(captionFiles) };
  return { chaptersFile: chapters, captionsFile: await save("vtt"), srtFile: await save("srt") };
}
