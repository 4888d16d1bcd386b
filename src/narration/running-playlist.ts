/**
 * Keeps a playlist beside a narration that is being made, so that ordinary players follow it: HLS with packed mp3. The
 * playlist only grows. It is ended when the narration ends, and removed when somebody who has followed it from its
 * beginning can have heard it all.
 */
import { lstat, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { DamagedPartError } from "../audio/part-errors.ts";
import type { Clock } from "../clock.ts";
import { appendToStem } from "../files/file-name.ts";
import { assertInPlace, buildPartsPath, type OutputFolder } from "../files/output-folder.ts";
import { retryWhileLocked } from "../files/retry-while-locked.ts";
import { saveText } from "../files/save-audio.ts";
import { buildTemporaryPath, getSavedMode, removeIfPresent } from "../files/temporary-file.ts";
import type { NarrationRow } from "../ledger/schema.ts";
import type { ProgressCount } from "../requests/call.ts";
import type { NarrationDeps } from "./narration-deps.ts";
import { buildFileName } from "./narration-file-names.ts";
import type { PartState } from "./part-status.ts";
import { findAudibleParts } from "./part-times.ts";
import { getPlannedPart } from "./parts.ts";
import { getPlanFormat, type StoredPlan } from "./planning/stored-plan.ts";

const EXTENSION = ".m3u8";
/** Limits of the length of a segment, which is a part, unless that comes out much longer than estimated. */
const [SHORTEST_TARGET_SECONDS, LONGEST_TARGET_SECONDS] = [10, 150];
/** A narration with at most so many missing parts is made before anybody needs a playlist. */
const FEW_PARTS = 3;
/** Programs with FFmpeg begin so many segments before the end, whatever the playlist says. */
const FFMPEG_BEGINS_BEFORE_END = 3;
/** A playlist that nobody has ended or continued for so long is of a process that has died. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000;

/** Disks round times. */
const SWEEP_DELAY_MS = 2000;
/** A playlist of days is smaller. */
const MAX_PLAYLIST_BYTES = 4 * 1024 * 1024;

const END = "#EXT-X-ENDLIST";
const buildMark = (narrationId: string): string => `## ${narrationId}, while it is made`;
const MARK = /^## (nar_[0-9a-f]+), while it is made$/m;
const SEGMENT_FOLDER = /^(nar_[0-9a-f]+)\.live$/;
const SEGMENT = /^#EXTINF:([\d.]+),\n(.*\/(\d+)-\d+\.mp3)$/gm;

/**
 * Chooses the length that no segment exceeds. Players that have heard everything look for more after that time, or half
 * of it. Most begin with the third segment from the end, so segments are not shorter than parts.
 */
const chooseTargetSeconds = ({ parts }: StoredPlan): number => {
  const lengths = parts.map(
    ({ estimatedSeconds, pauseAfterSeconds }) => estimatedSeconds + pauseAfterSeconds,
  );
  const likely = Math.ceil(1.5 * lengths.reduce((longest, length) => Math.max(longest, length), 0));
  return Math.min(LONGEST_TARGET_SECONDS, Math.max(SHORTEST_TARGET_SECONDS, likely));
};

const buildHead = (narrationId: string, plan: StoredPlan): string =>
  [
    "#EXTM3U",
    buildMark(narrationId),
    "#EXT-X-VERSION:3",
    `#EXT-X-TARGETDURATION:${chooseTargetSeconds(plan)}`,
    "#EXT-X-PLAYLIST-TYPE:EVENT",
    "#EXT-X-START:TIME-OFFSET=0",
    "",
  ].join("\n");

const buildSegmentFolder = (partsFolder: Pick<OutputFolder, "root">, narrationId: string): string =>
  join(partsFolder.root, `${narrationId}.live`);

async function removeSegments(partsFolder: Pick<OutputFolder, "root">, narrationId: string): Promise<void> {
  const segments = buildSegmentFolder(partsFolder, narrationId);
  await rm(segments, { recursive: true, force: true }).catch(() => undefined);
}

const sumSegmentSeconds = (text: string): number =>
  [...text.matchAll(SEGMENT)].reduce((sum, [, seconds]) => sum + Number(seconds), 0);

interface FoundPlaylist {
  readonly path: string;
  readonly text: string;
  readonly narrationId: string;
}

/** Reads a playlist of a narration; `null` for any other file. Reading a pipe or a device might never end. */
async function readPlaylist(path: string): Promise<FoundPlaylist | null> {
  const stats = await lstat(path).catch(() => null);
  if (stats?.isFile() !== true || stats.size > MAX_PLAYLIST_BYTES) return null;
  const text = await readFile(path, "utf8").catch(() => "");
  const narrationId = MARK.exec(text)?.[1];
  return narrationId === undefined ? null : { path, text, narrationId };
}

/** Lists the playlists of narrations. */
async function listPlaylists({ root }: Pick<OutputFolder, "root">): Promise<FoundPlaylist[]> {
  const names = (await readdir(root).catch(() => [])).filter((name) => name.endsWith(EXTENSION));
  const found = await Promise.all(names.map((name) => readPlaylist(join(root, name))));
  return found.flatMap((playlist) => playlist ?? []);
}

/** Players follow mp3 alone. The rows of a sheet are files of their own, and are there as soon as they are made. */
const hasPlaylist = (plan: StoredPlan): boolean =>
  getPlanFormat(plan) === "mp3" && plan.fileLayout !== "rows";

/** Finds the playlist of a narration that is being made; `null` if there is none. */
async function findPlaylist(folder: Pick<OutputFolder, "root">, narrationId: string): Promise<string | null> {
  const found = (await listPlaylists(folder)).find((playlist) => playlist.narrationId === narrationId);
  return found === undefined || found.text.includes(END) ? null : found.path;
}

/** Says how a narration can be heard while it is made; an empty text if it cannot yet, or need not. */
export async function describeListening(
  folder: Pick<OutputFolder, "root">,
  narrationId: string,
  plan: StoredPlan,
  { done, total }: ProgressCount,
): Promise<string> {
  if (done === 0 || plan.fileLayout === "rows") return "";
  if (!hasPlaylist(plan)) {
    const isSoon = total - done <= FEW_PARTS;
    return isSoon ? "" : `The saved parts are in ${buildPartsPath(folder.root)}; the file comes at the end.`;
  }
  const path = await findPlaylist(folder, narrationId);
  if (path === null) return "";
  const option = done < FFMPEG_BEGINS_BEFORE_END ? "" : " (mpv --demuxer-lavf-o=live_start_index=0)";
  return `To listen while it is made, play ${path}${option}`;
}

/** Lists the narrations that have segments. */
async function listSegmented({ root }: Pick<OutputFolder, "root">): Promise<string[]> {
  const names = await readdir(root).catch(() => []);
  return names.flatMap((name) => SEGMENT_FOLDER.exec(name)?.[1] ?? []);
}

/**
 * Removes playlists that have been heard, those of processes that have died, and segments whose playlist somebody has
 * removed. Never fails.
 */
export async function sweepPlaylists(
  folder: Pick<OutputFolder, "root">,
  partsFolder: Pick<OutputFolder, "root">,
  clock: Pick<Clock, "wallMs">,
): Promise<void> {
  const playlists = await listPlaylists(folder);
  const ids = [...playlists.map(({ narrationId }) => narrationId), ...(await listSegmented(partsFolder))];
  for (const id of new Set(ids)) {
    const segments = buildSegmentFolder(partsFolder, id);
    const own = playlists.filter(({ narrationId }) => narrationId === id);
    const isOld = async (path: string, text: string): Promise<boolean> => {
      const stats = await lstat(path).catch(() => null);
      const maxAgeMs = text.includes(END) ? sumSegmentSeconds(text) * 1000 : ABANDONED_AFTER_MS;
      return stats === null || clock.wallMs() - stats.mtimeMs >= maxAgeMs;
    };
    // A copy of an earlier day has the segments of the one that is followed.
    const files = own.length > 0 ? own : [{ path: segments, text: "" }];
    const areOld = await Promise.all(files.map(({ path, text }) => isOld(path, text)));
    if (areOld.includes(false)) continue;
    for (const { path } of own) await removeIfPresent(path);
    await removeSegments(partsFolder, id);
  }
}

/** Puts a file in the place of another, or of a link, in one step. */
async function replaceFile(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const temporary = buildTemporaryPath(dirname(path));
  try {
    await writeFile(temporary, content, { flag: "wx", mode });
    await retryWhileLocked(() => rename(temporary, path));
  } finally {
    await removeIfPresent(temporary);
  }
}

/** The playlist of one narration, for the process that drives it. Its errors stop no narration. */
export class RunningPlaylist {
  readonly #deps: NarrationDeps;
  readonly #id: string;
  readonly #plan: StoredPlan;
  readonly #signal: AbortSignal;
  /** Whether the narration has none, or none any more. */
  #isOff: boolean;
  #path: string | null = null;
  #text = "";
  /** The position of the part that comes next. */
  #next = 0;
  /** The position of the part that the stream ends with. */
  #last: number | null = null;

  /** @param signal aborts when this process must stop */
  constructor(deps: NarrationDeps, narrationId: string, plan: StoredPlan, signal: AbortSignal) {
    this.#deps = deps;
    this.#id = narrationId;
    this.#plan = plan;
    this.#signal = signal;
    this.#isOff = !hasPlaylist(plan);
  }

  /** Adds the parts that are saved, in reading order. Passes over failed parts. */
  async extend(narration: NarrationRow, states: readonly PartState[]): Promise<void> {
    const next = states[this.#next]?.status;
    const isReady = next === "saved" || next === "failed" || next === "skipped";
    // What was with the service at a stop is saved after it, and still belongs to the playlist.
    const isKept = narration.status === "running" || this.#path !== null;
    if (this.#isOff || !isKept || !isReady) return;
    try {
      if (this.#path === null) await this.#begin(states);
      if (!this.#isOff) await this.#addSaved(narration, states);
    } catch (error) {
      this.#giveUp(error);
    }
  }

  /**
   * Ends the playlist, because nothing more is made. Ends also one that could not be continued, because its players would
   * wait.
   */
  async end(): Promise<void> {
    this.#isOff = true;
    if (!hasPlaylist(this.#plan)) return;
    try {
      const { folder, partsFolder, clock } = this.#deps;
      const own = await this.#findOwn();
      // Nothing else names its segments any more.
      if (own === undefined) return await removeSegments(partsFolder, this.#id);
      if (own.text.includes(END)) return;
      await this.#replace(own.path, `${this.#keepWhole(own)}${END}\n`);
      const seconds = sumSegmentSeconds(own.text);
      void clock.sleep(seconds * 1000 + SWEEP_DELAY_MS, this.#signal).then(
        () => sweepPlaylists(folder, partsFolder, clock),
        () => undefined,
      );
    } catch (error) {
      this.#giveUp(error);
    }
  }

  #giveUp(error: unknown): void {
    if (this.#signal.aborted) return;
    this.#isOff = true;
    this.#deps.log.warn(`the playlist of ${this.#id} is not kept: ${String(error)}`);
  }

  /** Finds the playlist that this process has written, rather than somebody's copy of it. */
  async #findOwn(): Promise<FoundPlaylist | undefined> {
    const playlists = await listPlaylists(this.#deps.folder);
    const all = playlists.filter(({ narrationId }) => narrationId === this.#id);
    return all.find(({ path }) => path === this.#path) ?? all[0];
  }

  /** Returns a playlist without its end, and without the rest of a line that was torn. */
  #keepWhole({ text }: FoundPlaylist): string {
    const segments = [...text.matchAll(SEGMENT)].map(([lines]) => `${lines}\n`);
    return buildHead(this.#id, this.#plan) + segments.join("");
  }

  /** Continues the playlist of an earlier run or process, or decides that one is worth while. */
  async #begin(states: readonly PartState[]): Promise<void> {
    const { folder, partsFolder, clock } = this.#deps;
    await sweepPlaylists(folder, partsFolder, clock);
    const own = await this.#findOwn();
    if (own !== undefined) {
      this.#path = own.path;
      this.#text = this.#keepWhole(own);
      const numbers = [...own.text.matchAll(SEGMENT)].map(([, , , number]) => Number(number));
      this.#next = numbers.at(-1) ?? 0;
      this.#last = this.#next === 0 ? null : this.#next - 1;
      // It goes on, so that nobody takes it for one that was heard.
      if (this.#text !== own.text) await this.#replace(own.path, this.#text);
      return;
    }
    const missingCount = states.filter(({ status }) => status !== "saved").length;
    this.#isOff = missingCount <= FEW_PARTS || missingCount * 2 < states.length;
    if (!this.#isOff) await removeSegments(partsFolder, this.#id);
  }

  async #addSaved(narration: NarrationRow, states: readonly PartState[]): Promise<void> {
    const first = this.#text.length;
    for (; this.#next < states.length; this.#next += 1) {
      const state = states[this.#next];
      const isLeftOut = state?.status === "failed" || state?.status === "skipped";
      if (state?.status !== "saved" && !isLeftOut) break;
      if (state !== undefined && !isLeftOut) await this.#addPart(state, states);
    }
    if (this.#text.length === first) return;
    if (this.#path !== null) return await this.#replace(this.#path, this.#text);
    const file = { narration, plan: this.#plan, file: { chapterIndex: null }, isComplete: true };
    const name = appendToStem(buildFileName(file), "", EXTENSION);
    this.#path = (await saveText(this.#deps.folder, name, this.#text)).path;
  }

  async #addPart(state: PartState, states: readonly PartState[]): Promise<void> {
    const { folder, partsFolder } = this.#deps;
    const position = this.#next;
    const last = this.#last === null ? [] : [states[this.#last]].flatMap((each) => each ?? []);
    const audible = await findAudibleParts(this.#deps, this.#plan, [...last, state]);
    const [own, previous] = [audible.get(position), audible.get(this.#last ?? -1)];
    // The audio of another machine is not here. The joiner fetches it again.
    if (own === undefined) return;
    const { cutStreamSegments } = await import("../audio/mp3/stream-segments.ts");
    const cutting = cutStreamSegments(
      {
        path: own.source.path,
        previousPath: previous?.source.path ?? null,
        pauseSeconds: previous?.source.pauseAfterSeconds ?? 0,
        startSeconds: getPlannedPart(this.#plan, position).startSeconds ?? 0,
        streamSeconds: sumSegmentSeconds(this.#text),
        maxSegmentSeconds: chooseTargetSeconds(this.#plan),
      },
      this.#signal,
    );
    // The joiner reports what is wrong with a part, and fetches it again.
    const segments = await cutting.catch((error: unknown) => {
      if (error instanceof DamagedPartError) return [];
      throw error;
    });
    const segmentFolder = buildSegmentFolder(partsFolder, this.#id);
    await partsFolder.ensureExists();
    await mkdir(segmentFolder, { mode: 0o700 }).catch(() => undefined);
    // A link in its place must not lead the segments elsewhere.
    await assertInPlace(segmentFolder);
    let lines = "";
    let count = 0;
    for (const { bytes, seconds } of segments) {
      count += 1;
      const number = `${position + 1}`.padStart(5, "0");
      const path = join(segmentFolder, `${number}-${`${count}`.padStart(2, "0")}.mp3`);
      await replaceFile(path, bytes, getSavedMode());
      const uri = relative(folder.root, path).split(sep).join("/");
      lines += `#EXTINF:${seconds.toFixed(6)},\n${uri}\n`;
    }
    if (lines === "") return;
    if (this.#text === "") this.#text = buildHead(this.#id, this.#plan);
    this.#text += lines;
    this.#last = position;
  }

  /** Replaces the playlist in one step, unless somebody has put another file in its place. */
  async #replace(path: string, text: string): Promise<void> {
    const present = await readPlaylist(path);
    if (present?.narrationId !== this.#id) throw new Error(`${path} was removed or replaced`);
    await assertInPlace(this.#deps.folder.root);
    await replaceFile(path, text, (await stat(path)).mode);
  }
}
