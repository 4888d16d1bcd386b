/** Finds the takes of one request through the host, and shows them side by side with small waveforms. */
import { getElement, makeElement } from "./elements.ts";
import { callTool } from "./host.ts";
import { openAudioFile } from "./open-audio-file.ts";
import { parseEntries, parseFields, parseId, parseNumber } from "./parse-fields.ts";
import { MAX_WHOLE_BYTES, type SegmentReader } from "./segment-reader.ts";
import { type AudioFile, parseShownResult, type ShownResult } from "./shown-result.ts";
import { Waveform } from "./waveform.ts";

const MAX_TAKES = 6;

export interface Take {
  readonly shown: ShownResult;
  readonly audioFile: AudioFile;
}

/**
 * Returns the saved takes of one request in order. `shown` is the result of one of these takes.
 *
 * @throws HostError
 */
export async function loadTakes(shown: ShownResult, audioFile: AudioFile): Promise<Take[]> {
  const ownTake = { shown, audioFile };
  const list = await callTool("list_tasks", { limit: 100 });
  const rows = parseEntries(parseFields(list["structuredContent"])["tasks"], 200).map(parseFields);
  // Compare the hashes of the requests. The rows contain only excerpts of texts, and different texts often have equal
  // excerpts.
  const requests = parseFields(parseFields(list["_meta"])["requests"]);
  const request = requests[shown.id];
  if (!request) return [ownTake];
  const otherTakes = rows
    .filter(({ task_id, take }) => requests[parseId(task_id)] === request && take !== (shown.take ?? 1))
    .map((other) => ({
      taskId: parseId(other["task_id"]),
      take: parseNumber(other["take"], 999),
      path: other["audio_path"],
    }))
    .filter(({ taskId, take, path }) => taskId !== "" && take !== null && typeof path === "string")
    .slice(0, MAX_TAKES - 1);
  const loadedTakes = await Promise.all(
    otherTakes.map(async ({ taskId }): Promise<Take[]> => {
      const otherTake = parseShownResult(await callTool("get_task", { task_id: taskId }));
      const [saved] = otherTake.audioFiles;
      return saved === undefined || otherTake.id !== taskId ? [] : [{ shown: otherTake, audioFile: saved }];
    }),
  );
  return [ownTake, ...loadedTakes.flat()].sort((a, b) => (a.shown.take ?? 1) - (b.shown.take ?? 1));
}

/**
 * Shows the takes as buttons.
 *
 * @param choose receives the take whose button is pressed
 */
export function showTakes(
  takes: readonly Take[],
  current: AudioFile,
  readers: Map<string, SegmentReader>,
  choose: (take: Take) => void,
): void {
  const box = getElement("#takes");
  box.hidden = takes.length < 2;
  if (box.hidden) {
    box.replaceChildren();
    return;
  }
  const buttons = takes.map((take) => {
    const { shown, audioFile } = take;
    const canvas = makeElement("canvas");
    canvas.ariaHidden = "true";
    const facts = makeElement("small", shown.facts.filter((fact) => /:|credits/.test(fact)).join(" · "));
    const takeButton = makeElement(
      "button",
      "",
      makeElement("span", `Take ${shown.take ?? 1}`),
      facts,
      canvas,
    );
    takeButton.ariaPressed = `${audioFile === current}`;
    takeButton.onclick = () => {
      for (const other of buttons) other.ariaPressed = `${other === takeButton}`;
      choose(take);
    };
    const wave = new Waveform(canvas, 48);
    // Read small takes immediately, so that they play without a wait.
    if (audioFile.sizeBytes <= MAX_WHOLE_BYTES) void draw(audioFile, wave, readers);
    return takeButton;
  });
  box.replaceChildren(...buttons);
}

async function draw(
  audioFile: AudioFile,
  wave: Waveform,
  readers: Map<string, SegmentReader>,
): Promise<void> {
  try {
    const reader = readers.get(audioFile.uri) ?? (await openAudioFile(audioFile));
    readers.set(audioFile.uri, reader);
    const segment = await reader.readAt(0);
    if (segment !== null) await wave.add(segment, reader.durationSeconds);
  } catch {
    // Ignore an error here. The player reports it when somebody plays this take.
  }
}
