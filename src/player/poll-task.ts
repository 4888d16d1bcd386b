/** Polls a task or a narration until its audio is made, and shows the progress meanwhile. */
import { getButton, getElement, getElementOfType, showStatus } from "./elements.ts";
import { callTool, HostError, isSupported } from "./host.ts";
import { parseText } from "./parse-fields.ts";
import { MAX_ROWS, parseParts } from "./parts-table.ts";
import { readPartsTable } from "./pieces.ts";
import type { RunningNarration } from "./running-narration.ts";
import { parseShownResult, type ShownResult } from "./shown-result.ts";

/**
 * Returns the pause before the next poll. The pause grows with the number of polls, because a slow task usually needs
 * much more time.
 */
const computePauseSeconds = (reads: number): number => Math.min(2 + reads / 20, 10);

/** The beginning of the status line of a running narration, as `src/narration/render-parts-table.ts` writes it. */
const RUNNING_PREFIX = "running. ";

/** What that line says if parts cannot be played; see `src/narration/narration-view.ts`. */
const JOINED_ONLY = "only the joined file can be played";

/** Maximum number of polls; the longest task and a day of listening need fewer. */
const MAX_POLLS = 50_000;

/** Number of consecutive failures after which polling stops. */
const MAX_FAILURES = 3;

const waitSeconds = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/**
 * Returns whether a result shows a task or a narration that has not ended, so that the page must poll it. Returns false
 * for a result that is an error.
 */
export const isRunning = ({ status, isError }: ShownResult): boolean =>
  !isError && ["waiting", "queued", "processing", "running"].includes(status);

const readShown = async ({ kind, id }: ShownResult): Promise<ShownResult> => {
  const [tool, args] =
    kind === "task"
      ? ["get_task", { task_id: id, wait_seconds: 5 }]
      : ["narrate", { narration_id: id, wait_seconds: 0 }];
  return parseShownResult(await callTool(tool, args));
};

/**
 * Shows a narration's parts with their status, unless the page has come to want something else meanwhile.
 *
 * @returns seconds until the next look; null if the narration does not run, or has no parts that are not saved
 */
async function showParts(
  { kind, id }: ShownResult,
  running: RunningNarration,
  usualSeconds: number,
  isWanted: () => boolean,
): Promise<number | null> {
  if (kind !== "narration") return null;
  const heard = running.heardPart === null ? "" : `?heard=${running.heardPart}`;
  const table = await readPartsTable(`audio://narrations/${id}${heard}`);
  const parts = parseParts(table);
  const [, , statusLine = ""] = table.split("\n", 3);
  if (parts.length === 0 || !isWanted()) return null;
  const isCut = parts.length === MAX_ROWS;
  const savedParts = parts.filter(({ status }) => status === "saved").length;
  if (!isCut) showProgress(savedParts, parts.length);
  running.showButtons(parts);
  const narrationRuns = statusLine.startsWith(RUNNING_PREFIX);
  const cut = isCut ? ` Before it is joined, the first ${MAX_ROWS} parts are played.` : "";
  const sentence = `${parseText(statusLine.slice(RUNNING_PREFIX.length))}${cut}`;
  const isHeard = !statusLine.includes(JOINED_ONLY);
  if (!isHeard && narrationRuns) showStatus(sentence);
  const pauseSeconds = isHeard ? running.update(parts, narrationRuns, sentence) : null;
  return narrationRuns && (isCut || savedParts < parts.length) ? (pauseSeconds ?? usualSeconds) : null;
}

function showProgress(saved: number, total: number): void {
  const bar = getElementOfType("#progress", HTMLProgressElement);
  bar.max = Math.max(1, total);
  bar.value = saved;
  getElement("#count").textContent = `${saved} of ${total} parts`;
}

/**
 * Polls a task or a narration until it no longer runs, then passes its result to `onEnded`. Shows the progress
 * meanwhile.
 *
 * @param running plays the parts of a narration that are saved
 * @param isWanted returns false once the page shows something else
 */
export async function pollUntilEnded(
  shown: ShownResult,
  running: RunningNarration,
  isWanted: () => boolean,
  onEnded: (shown: ShownResult) => void,
): Promise<void> {
  const { parts } = shown;
  getElement("#making").hidden = parts === null;
  if (parts !== null) showProgress(parts.saved, parts.total);
  getButton("#stop").hidden = !isSupported("tools/call");
  getButton("#stop").disabled = false;
  let hasEnded = false;
  // What was asked for before the end is not shown after it.
  const isFollowed = (): boolean => !hasEnded && isWanted();
  const end = async (newShown: ShownResult): Promise<void> => {
    hasEnded = !isRunning(newShown);
    // The parts that are not coming any more change the times of those that are heard.
    if (running.isOpen) await showParts(shown, running, 0, isWanted).catch(() => null);
    if (isWanted()) onEnded(newShown);
  };
  getButton("#stop").onclick = () => void stop(shown, isWanted, end);
  let failureCount = 0;
  for (let reads = 0; reads < MAX_POLLS && isFollowed(); reads += 1) {
    try {
      // Read the narration's table as a resource instead of calling the tool, because a tool call may need the person's
      // permission. If the table cannot be read, call the tool in every fourth poll.
      const usualSeconds = computePauseSeconds(reads);
      const pauseSeconds = await showParts(shown, running, usualSeconds, isFollowed).catch(() =>
        reads % 4 === 3 ? null : usualSeconds,
      );
      if (pauseSeconds !== null) {
        failureCount = 0;
        await Promise.race([waitSeconds(pauseSeconds), running.beginsToWait]);
        continue;
      }
      if (!isFollowed()) return;
      const newShown = await readShown(shown);
      if (!isFollowed()) return;
      // Accept a result with another id, because the id of a waiting request changes once its task exists. Refuse a
      // result without a status, because the page would show it and begin to poll again, without end.
      if (newShown.isError || newShown.kind !== shown.kind || newShown.status === "")
        throw new HostError(newShown.isError ? newShown.message : "The chat passes only the text.");
      failureCount = 0;
      if (!isRunning(newShown)) return await end(newShown);
      if (newShown.message !== "") showStatus(newShown.message);
    } catch (error) {
      failureCount += 1;
      if (!isFollowed()) return;
      if (failureCount === MAX_FAILURES || !isSupported("tools/call")) {
        const reason = error instanceof HostError ? error.message : "";
        return showStatus(
          `${shown.message} It cannot be followed here. ${reason} Ask the assistant how it stands.`,
        );
      }
    }
    await waitSeconds(computePauseSeconds(reads));
  }
}

/**
 * Looks again at a narration that was stopped, until it runs again or has another file.
 *
 * @param isHeard whether a file of it is heard, which is not interrupted
 */
export async function watchStopped(
  shown: ShownResult,
  isWanted: () => boolean,
  isHeard: () => boolean,
  onChange: (shown: ShownResult) => void,
): Promise<void> {
  let [knownTable, changed]: [string, ShownResult | null] = ["", null];
  for (let reads = 0; reads < MAX_POLLS && isWanted(); reads += 1) {
    await waitSeconds(computePauseSeconds(reads));
    try {
      const table = await readPartsTable(`audio://narrations/${shown.id}`);
      if (table !== knownTable && isWanted()) {
        const now = await readShown(shown);
        knownTable = table;
        if (isRunning(now) || now.audioFiles[0]?.path !== shown.audioFiles[0]?.path) changed = now;
      }
    } catch {
      // A chat that does not answer may do so later.
    }
    if (changed === null || !isWanted()) continue;
    if (!isHeard()) return onChange(changed);
    showStatus("The narration went on. Pause to hear the rest of it.");
  }
}

async function stop(
  { id }: ShownResult,
  isWanted: () => boolean,
  end: (shown: ShownResult) => Promise<void>,
): Promise<void> {
  const stopButton = getButton("#stop");
  stopButton.disabled = true;
  try {
    const result = await callTool("narrate", { narration_id: id, stop: true, wait_seconds: 0 });
    const newShown = parseShownResult(result);
    if (newShown.isError) throw new HostError(newShown.message);
    await end(newShown);
  } catch (error) {
    const reason = error instanceof HostError ? error.message : "";
    if (isWanted())
      showStatus(`It could not be stopped from here. ${reason} Ask the assistant to stop it.`, true);
  } finally {
    stopButton.disabled = false;
  }
}
