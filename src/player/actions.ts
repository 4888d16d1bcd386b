/**
 * Connects the buttons of a sound: one saves it, the others ask the assistant for another take or for the next part.
 */
import { getButton, showStatus } from "./elements.ts";
import { HostError, isSupported, requestHost } from "./host.ts";
import { createPieceLoader } from "./pieces.ts";
import { type AudioFile, getFileName, MIME_TYPES, type ShownResult } from "./shown-result.ts";

/**
 * Maximum size of a file that is saved through the browser. A larger file would exhaust the browser's memory. For such
 * a file, the player only names its path on the disk.
 */
const MAX_SAVED_BYTES = 32 * 1024 * 1024;

/** Time limit of a save request. It leaves a person time to choose a folder. */
const SAVE_TIMEOUT_MS = 300_000;

async function readAsBase64({ uri, sizeBytes }: AudioFile): Promise<string> {
  const bytes = await createPieceLoader(uri, sizeBytes).read(0, sizeBytes);
  const parts: string[] = [];
  // Encode a multiple of three bytes at a time, so that the base64 strings can be joined.
  for (let offset = 0; offset < bytes.length; offset += 24_573) {
    parts.push(btoa(String.fromCharCode(...bytes.subarray(offset, offset + 24_573))));
  }
  return parts.join("");
}

/** The sound that is shown now. The outcome of a save is reported only if its sound is still shown. */
let current: AudioFile | undefined;

async function save(audioFile: AudioFile): Promise<void> {
  const { path, format, sizeBytes } = audioFile;
  const saveButton = getButton("#save");
  saveButton.disabled = true;
  const report = (sentence: string, isBad = false): void => {
    if (audioFile === current) showStatus(sentence, isBad);
  };
  try {
    if (sizeBytes > MAX_SAVED_BYTES) throw new HostError("The file is too large to be handed over here.");
    const uri = `file:///${encodeURIComponent(getFileName(path))}`;
    const mimeType = format === "pcm" ? "application/octet-stream" : MIME_TYPES[format];
    const resource = { uri, mimeType, blob: await readAsBase64(audioFile) };
    const answer = await requestHost(
      "ui/download-file",
      { contents: [{ type: "resource", resource }] },
      SAVE_TIMEOUT_MS,
    );
    report(answer["isError"] === true ? "It was not saved." : "");
  } catch (error) {
    report(
      `${error instanceof HostError ? error.message : "It was not saved."} The file is at the path below.`,
      true,
    );
  } finally {
    if (audioFile === current) saveButton.disabled = false;
  }
}

/**
 * Posts a sentence in the chat as a message of the user, and shows whether the chat has accepted the message. Never
 * rejects.
 */
export async function askAssistant(sentence: string): Promise<void> {
  try {
    const content = [{ type: "text", text: sentence }];
    const answer = await requestHost("ui/message", { role: "user", content });
    showStatus(answer["isError"] === true ? "The chat did not take the message." : "Asked in the chat.");
  } catch {
    showStatus("The chat did not take the message; ask the assistant in your own words.", true);
  }
}

/**
 * Shows the buttons for a sound.
 *
 * @param highestTake the highest known take; "Another take" asks for the next one
 */
export function connectActions(
  shown: ShownResult,
  audioFile: AudioFile | undefined,
  highestTake: number,
): void {
  const isSaved = shown.kind === "task" && shown.status === "succeeded" && audioFile !== undefined;
  const [again, next, saveButton] = [getButton("#again"), getButton("#next"), getButton("#save")];
  saveButton.hidden =
    audioFile === undefined || !isSupported("ui/download-file") || !isSupported("resources/read");
  if (audioFile !== current) saveButton.disabled = false;
  current = audioFile;
  if (audioFile !== undefined) saveButton.onclick = () => void save(audioFile);
  again.hidden = next.hidden = !(isSaved && isSupported("ui/message"));
  again.title = "Asks the assistant; it costs credits";
  again.onclick = () =>
    void askAssistant(
      `Please make another take of task ${shown.id}: the same generate_audio arguments, with take ${highestTake + 1}.`,
    );
  next.title = again.title;
  next.onclick = () =>
    void askAssistant(
      `Please narrate the next part of the text, with the voice and settings of task ${shown.id}.`,
    );
}
