/** Makes the companions of a narration's file: captions, and a chapter file for players. */
import { buildChaptersJson, type CaptionedPart, makeCaptions } from "../audio/captions/captions.ts";
import type { JoinedAudio, JoinPart, JoinRequest, Span } from "../audio/join-request.ts";
import type { CaptionFiles } from "../config/settings.ts";
import { estimateSeconds } from "../contract/estimate.ts";
import { AudioError } from "../errors.ts";
import { appendToStem } from "../files/file-name.ts";
import type { OutputFolder } from "../files/output-folder.ts";
import { saveText } from "../files/save-audio.ts";
import type { FileRow } from "../ledger/schema.ts";
import type { RequestDeps } from "../requests/deps.ts";
import type { ViewedNarration } from "./narration-view.ts";
import { findAudibleParts } from "./part-times.ts";
import { getPlannedPart } from "./parts.ts";
import { getPlanFormat, type StoredPart } from "./planning/stored-plan.ts";
import { splitSentences } from "./text/cutting/sentences.ts";

/** A part of a joined file. */
export interface SpokenPart {
  readonly source: JoinPart;
  readonly planned: StoredPart;
}

/** Builds what captions of a part are made of. */
export const buildCaptionedPart = (
  { source, planned: { text, speaker } }: SpokenPart,
  span: Span,
): CaptionedPart => ({
  ...source,
  span,
  speaker,
  sentences: splitSentences(text).map((sentence) => ({ text: sentence, weight: estimateSeconds(sentence) })),
});

/**
 * Saves the captions under the name of the audio, and also `NAME.chapters.json` if there are chapters. If captions are
 * saved in both forms, WebVTT is `captions` and SubRip is `srt`.
 *
 * @param name the name of the audio
 * @param leadSeconds silence at the start of each part of a timeline; empty for narrations without a timeline
 */
export async function saveCompanions(
  { folder, captionFiles }: { readonly folder: OutputFolder; readonly captionFiles: CaptionFiles },
  name: string,
  { title, format, signal }: Pick<JoinRequest, "title" | "format" | "signal">,
  spoken: readonly SpokenPart[],
  joined: JoinedAudio,
  leadSeconds: readonly number[],
): Promise<Array<Pick<FileRow, "kind" | "path" | "size_bytes" | "sha256">>> {
  const parts = spoken.map((part, index) => ({
    ...buildCaptionedPart(part, joined.parts[index] ?? { startSeconds: 0, endSeconds: 0 }),
    leadSeconds: leadSeconds[index],
  }));
  const captions = await makeCaptions({ format, parts, signal });
  const save = async (kind: FileRow["kind"], words: string, extension: string, text: string) => {
    const { path, sizeBytes, sha256 } = await saveText(folder, appendToStem(name, words, extension), text);
    return { kind, path, size_bytes: sizeBytes, sha256 };
  };
  const { chapters } = joined;
  const main = captionFiles === "both" ? "vtt" : captionFiles;
  return [
    ...(chapters.length > 0
      ? [await save("chapters", ".chapters", ".json", buildChaptersJson(title, chapters))]
      : []),
    await save("captions", "", `.${main}`, captions[main]),
    ...(captionFiles === "both" ? [await save("srt", "", ".srt", captions.srt)] : []),
  ];
}

/**
 * Makes the captions of one saved part, as WebVTT whose times begin with the part.
 *
 * @param number from 1
 * @throws AudioError `not_found` if its audio is not on this machine
 */
export async function makePartCaptions(
  deps: Pick<RequestDeps, "ledger" | "folder">,
  { plan, states }: Pick<ViewedNarration, "plan" | "states">,
  number: number,
): Promise<string> {
  const position = number - 1;
  const part = (await findAudibleParts(deps, plan, states.slice(position, number))).get(position);
  if (part === undefined) throw new AudioError("not_found", "The narration has no such part here.");
  const spoken = { source: part.source, planned: getPlannedPart(plan, position) };
  const span = { startSeconds: 0, endSeconds: part.source.durationSeconds };
  const captioned = buildCaptionedPart(spoken, span);
  return (await makeCaptions({ format: getPlanFormat(plan), parts: [captioned] })).vtt;
}
