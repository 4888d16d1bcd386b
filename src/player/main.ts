/** Shows a tool's result in the chat and plays its audio. Loads nothing from a network; talks to its host only. */
import { askAssistant, connectActions } from "./actions.ts";
import { CompanionLists } from "./companion-lists.ts";
import { getButton, getElement, getElementOfType, makeElement, showStatus } from "./elements.ts";
import {
  ANSWER_TIMEOUT_MS,
  callTool,
  connectToHost,
  FileGoneError,
  HostError,
  isSupported,
  listen,
  notify,
} from "./host.ts";
import { openAudioFile } from "./open-audio-file.ts";
import { parseFields, parseText } from "./parse-fields.ts";
import { isRunning, pollUntilEnded, watchStopped } from "./poll-task.ts";
import { RunningNarration } from "./running-narration.ts";
import { DamagedFileError, type SegmentReader } from "./segment-reader.ts";
import {
  type AudioFile,
  formatClock,
  getFileName,
  parseShownResult,
  type ShownResult,
} from "./shown-result.ts";
import { SoundPlayer } from "./sound-player.ts";
import { loadTakes, showTakes, type Take } from "./takes.ts";
import { applyTheme } from "./theme.ts";
import { connectTransport, showTransport } from "./transport.ts";
import { Waveform } from "./waveform.ts";

const PRESS_PLAY_AGAIN = "Press Play once more.";

const wave = new Waveform(getElementOfType("#wave canvas", HTMLCanvasElement));
const player = new SoundPlayer({
  onChange: () => {
    showTransport(player, wave);
    if (player.isPlaying && getElement("#say").textContent === PRESS_PLAY_AGAIN) showStatus("");
    companionLists.show(player.positionSeconds);
  },
  onSegment: (segment) => void wave.add(segment, player.durationSeconds),
  onError: showError,
});
const companionLists = new CompanionLists((seconds) => void player.seek(seconds));

let shownResult: ShownResult | null = null;
/** The narration that is shown while it is made. */
let running: RunningNarration | null = null;
/** The result that the page shows, as JSON. */
let shownResultJson = "";
/**
 * The number of times that the page has begun to show something else. Asynchronous code remembers this number, and
 * drops its own result if the number has changed since.
 */
let displayVersion = 0;

/**
 * Shows an error as a sentence. If the file may still exist, the sentence refers to the file's path, which the page
 * shows.
 */
function showError(error: unknown): void {
  if (error instanceof DOMException && error.name === "NotAllowedError") {
    showStatus(PRESS_PLAY_AGAIN);
    return;
  }
  const isOurs = error instanceof HostError || error instanceof DamagedFileError;
  const reason = isOurs ? error.message : "It cannot be played here.";
  const isGone = error instanceof FileGoneError;
  const isSaved = !getElement("#path").hidden && !isGone;
  showStatus(`${reason}${isSaved ? " The file is at the path below." : ""}`, true);
  // If the file of a task is gone, offer to fetch its audio again. The audio of a narration cannot be fetched again
  // this way.
  if (isGone && shownResult?.kind === "task") offerMessage(shownResult);
  getElement("#player").hidden = true;
  companionLists.clear();
}

function offerMessage({ id }: ShownResult): void {
  if (!isSupported("ui/message")) return;
  offerFetch(() =>
    askAssistant(`Please fetch the audio of task ${id} with download_audio; it costs nothing.`),
  );
}

function offerFetch(act: () => Promise<void>): void {
  const fetchButton = getButton("#fetch");
  fetchButton.hidden = false;
  fetchButton.onclick = () => void act();
}

/**
 * Opens a sound and shows the player.
 *
 * @param position where to start, in seconds
 */
async function openFile(
  audioFile: AudioFile,
  readers: Map<string, SegmentReader>,
  position = 0,
): Promise<void> {
  // Increment `displayVersion`, so that late results for an earlier choice are dropped.
  displayVersion += 1;
  const versionAtStart = displayVersion;
  const { path, uri, companionsBaseUri: companions } = audioFile;
  getElement("#fetch").hidden = true;
  getElement("#path").hidden = path === "";
  getElement("#path code").textContent = path;
  if (position === 0) showStatus("Reading the sound…");
  wave.clear();
  try {
    const reader = readers.get(uri) ?? (await openAudioFile(audioFile));
    readers.set(uri, reader);
    if (versionAtStart !== displayVersion) return;
    getElement("#player").hidden = false;
    // Start to load captions and chapters before the sound, so that they arrive early. Playing does not wait for them.
    if (companions !== null) void companionLists.load(companions);
    await player.open(reader, position);
    if (versionAtStart === displayVersion && !getElement("#player").hidden)
      showStatus(shownResult?.note ?? "");
  } catch (error) {
    if (versionAtStart === displayVersion) showError(error);
  }
}

/** Goes on with the file of a narration that was heard while it was made, from the next command on. */
async function handOver(audioFile: AudioFile, readers: Map<string, SegmentReader>): Promise<void> {
  const { path, uri, companionsBaseUri: companions } = audioFile;
  const versionAtStart = displayVersion;
  getElement("#path").hidden = path === "";
  getElement("#path code").textContent = path;
  showStatus(shownResult?.note ?? "");
  try {
    const reader = await openAudioFile(audioFile);
    readers.set(uri, reader);
    if (versionAtStart !== displayVersion) return;
    player.successor = reader;
    if (companions !== null) void companionLists.load(companions);
  } catch (error) {
    // What is heard goes on.
    if (versionAtStart === displayVersion && error instanceof HostError) showStatus(error.message, true);
  }
}

function showFiles(result: ShownResult, readers: Map<string, SegmentReader>): void {
  const buttons = result.audioFiles.map((audioFile) => {
    const length = makeElement("span", audioFile.seconds === null ? "" : formatClock(audioFile.seconds));
    const fileButton = makeElement(
      "button",
      "",
      length,
      makeElement("bdi", audioFile.chapter || getFileName(audioFile.path)),
    );
    fileButton.onclick = () => {
      player.close();
      companionLists.clear();
      choose(fileButton);
      showHeading(result, audioFile);
      connectActions(result, audioFile, 1);
      void openFile(audioFile, readers);
    };
    return fileButton;
  });
  const choose = (chosen: HTMLElement | undefined): void => {
    for (const each of buttons) each.ariaCurrent = `${each === chosen}`;
  };
  choose(buttons[0]);
  getElement("#files").hidden = buttons.length < 2;
  getElement("#files").replaceChildren(...buttons);
}

async function findTakes(
  result: ShownResult,
  audioFile: AudioFile,
  readers: Map<string, SegmentReader>,
): Promise<void> {
  const versionAtStart = displayVersion;
  const takes = await loadTakes(result, audioFile).catch((): Take[] => []);
  if (versionAtStart !== displayVersion) return;
  const max = Math.max(result.take ?? 1, ...takes.map((take) => take.shown.take ?? 1));
  connectActions(result, audioFile, max);
  showTakes(takes, audioFile, readers, (take) => {
    const startSeconds = player.durationSeconds > 0 ? player.positionSeconds : 0;
    // Each take is a task of its own, so status and actions now refer to the chosen take's task.
    shownResult = take.shown;
    showHeading(take.shown, take.audioFile);
    connectActions(take.shown, take.audioFile, max);
    void openFile(take.audioFile, readers, startSeconds);
  });
}

function showHeading(result: ShownResult, audioFile: AudioFile | undefined): void {
  const name = audioFile === undefined ? "" : getFileName(audioFile.path);
  const chapter = result.audioFiles.length > 1 && audioFile?.chapter ? `: ${audioFile.chapter}` : "";
  const title = result.title === "" ? name : `${result.title}${chapter}`;
  if (title !== "") getElement("#title").textContent = title;
  const take = result.take === null || result.take === 1 ? [] : [`take ${result.take}`];
  getElement("#facts").textContent = [...result.facts, ...take].join(" · ");
}

/** Shows a result. A result that is only text does not replace a task or a narration. */
function showResult(result: ShownResult): void {
  if (result.kind === "text" && shownResult !== null && shownResult.kind !== "text") return;
  // Ignore a repeated result, because showing it again would stop playing.
  if (JSON.stringify(result) === shownResultJson && !getElement("#player").hidden) return;
  shownResultJson = JSON.stringify(result);
  displayVersion += 1;
  const versionAtStart = displayVersion;
  const isShown = (): boolean => shownResult === result;
  shownResult = result;
  const [audioFile] = result.audioFiles;
  const heard = running?.isOpen === true && running.id === result.id ? running : null;
  running = null;
  if (heard === null) {
    player.close();
    companionLists.clear();
    wave.clear();
    getElement("#player").hidden = true;
  }
  for (const selector of ["#takes", "#files", "#making", "#parts", "#path", "#fetch"])
    getElement(selector).hidden = true;
  showHeading(result, audioFile);
  connectActions(result, audioFile, result.take ?? 1);
  const isFailed = result.isError || result.status === "failed";
  showStatus(result.message || (isFailed ? "It did not work." : "Nothing to be heard."), isFailed);
  // Some hosts pass on only the text of a result. The page then knows only the id, and polls to get the rest of the
  // result.
  const isBare = result.kind !== "text" && result.status === "" && !result.isError;
  if (isRunning(result) || isBare) {
    running = heard ?? new RunningNarration(result.id, player, companionLists);
    return void pollUntilEnded(result, running, isShown, showResult);
  }
  if (result.status === "stopped")
    void watchStopped(result, isShown, () => audioFile !== undefined && player.isPlaying, showResult);
  if (audioFile === undefined) {
    // What was heard of a stopped narration stays playable.
    if (heard !== null) running = heard;
    if (result.kind !== "task" || result.status !== "succeeded") return;
    if (isSupported("tools/call")) offerFetch(() => fetchAudio(result, versionAtStart));
    else offerMessage(result);
    return;
  }
  const readers = new Map<string, SegmentReader>();
  showFiles(result, readers);
  if (heard === null || player.positionSeconds === 0) void openFile(audioFile, readers);
  else if (result.audioFiles.length > 1) showStatus(result.note);
  else if (player.isPlaying && !player.isLoading) void handOver(audioFile, readers);
  else void openFile(audioFile, readers, player.positionSeconds);
  if (result.kind === "task" && isSupported("tools/call")) void findTakes(result, audioFile, readers);
}

async function fetchAudio(shownTask: ShownResult, versionAtStart: number): Promise<void> {
  try {
    const result = await callTool("download_audio", { task_id: shownTask.id }, 6 * ANSWER_TIMEOUT_MS);
    if (versionAtStart === displayVersion) showResult(parseShownResult(result));
  } catch (error) {
    if (versionAtStart === displayVersion) showError(error);
  }
}

let reportedSizeJson = "";
let resizeTimer: ReturnType<typeof setTimeout> | undefined;
new ResizeObserver(() => {
  clearTimeout(resizeTimer);
  resizeTimer = setTimeout(() => {
    const { width, height } = getElementOfType("main", HTMLElement).getBoundingClientRect();
    const newSize = { width: Math.ceil(width), height: Math.ceil(height) };
    if (JSON.stringify(newSize) !== reportedSizeJson) notify("ui/notifications/size-changed", newSize);
    reportedSizeJson = JSON.stringify(newSize);
  }, 50);
}).observe(getElementOfType("main", HTMLElement));

function closePlayer(): void {
  displayVersion += 1;
  player.close();
}

listen({
  "ui/notifications/tool-input": (params) => {
    const toolArgs = parseFields(params["arguments"]);
    const requestText = parseText(toolArgs["prompt"], 80) || parseText(toolArgs["text"], 80);
    if (requestText !== "" && shownResult === null) getElement("#title").textContent = requestText;
    if (shownResult === null) showStatus("Being made…");
  },
  "ui/notifications/tool-input-partial": () => undefined,
  "ui/notifications/tool-result": (params) => showResult(parseShownResult(params)),
  "ui/notifications/tool-cancelled": () => {
    if (shownResult === null) showStatus("The call was cancelled.");
  },
  "ui/notifications/host-context-changed": (params) => {
    applyTheme(params);
    wave.draw();
  },
  "ui/resource-teardown": closePlayer,
});
connectTransport(player);
window.addEventListener("pagehide", closePlayer);

connectToHost()
  .then((context) => {
    applyTheme(context);
    wave.draw();
  })
  .catch(() => {
    if (shownResult === null)
      showStatus("The chat does not answer; the text of the answer says where the file is.", true);
  })
  // Send the notification even if initialization failed, because the host may wait for it.
  .finally(() => notify("ui/notifications/initialized"));
