/** Plays a narration while it is made: its saved parts in reading order, as one sound that grows. */
import { type Cue, parseCues, type TimedLabel } from "./captions.ts";
import type { CompanionLists } from "./companion-lists.ts";
import { getElement, makeElement, showStatus } from "./elements.ts";
import { HostError } from "./host.ts";
import type { PartRow } from "./parts-table.ts";
import { readTextFile, readWholeFile } from "./pieces.ts";
import type { Segment, SegmentReader } from "./segment-reader.ts";
import { MIME_TYPES } from "./shown-result.ts";
import type { SoundPlayer } from "./sound-player.ts";

/** Limits of the pause between two looks at the parts, in seconds. */
const [SHORTEST_PAUSE, LONGEST_PAUSE] = [1, 10];
/** The stated length of the last part is rounded; its end must not be cut off. */
const LAST_PART_MARGIN_SECONDS = 0.1;

/** A part that cannot be read is tried so many times. */
const MAX_FAILURES = 3;
const RETRY_MS = 1000;

/** Thrown if no part of the narration can be played. */
class FormatError extends HostError {}

const formatWait = (seconds: number): string =>
  seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;

export class RunningNarration implements SegmentReader {
  readonly isGrowing = true;
  readonly id: string;
  readonly #player: SoundPlayer;
  readonly #lists: CompanionLists;
  /** The parts that are saved or to come, in reading order, without those that cannot be read. */
  #rows: readonly PartRow[] = [];
  #failed: readonly number[] = [];
  /** Captions by task, from the beginning of its part. */
  readonly #cues = new Map<string, readonly Cue[]>();
  /** The number of the part that the player waits for. */
  #awaited: number | null = null;
  #change = Promise.withResolvers<void>();
  /** Resolves when the player begins to wait for a part. */
  #wait = Promise.withResolvers<void>();
  #readCount = 0;
  /** Why parts cannot be read, by task. */
  readonly #unreadable = new Map<string, string>();
  isOpen = false;

  constructor(id: string, player: SoundPlayer, lists: CompanionLists) {
    this.id = id;
    this.#player = player;
    this.#lists = lists;
  }

  /** The number of the part that is heard or waited for; null if nobody listens. */
  get heardPart(): number | null {
    if (this.#awaited !== null) return this.#awaited;
    return this.#player.isPlaying ? (this.#findAt(this.#player.positionSeconds)?.number ?? null) : null;
  }

  /** Resolves when a part is waited for that was not waited for before, so that the parts are looked at again. */
  get beginsToWait(): Promise<void> {
    return this.#wait.promise;
  }

  get durationSeconds(): number {
    const last = this.#rows.at(-1);
    if (last === undefined) return 0;
    // The length of a missing part is unknown; parts are about equally long.
    return last.startSeconds + (last.seconds ?? last.startSeconds / Math.max(1, this.#rows.length - 1));
  }

  /**
   * Takes in how the parts stand, and says what a listener should know.
   *
   * @param isComing whether missing parts are being made
   * @returns seconds until the next look; null if nobody waits
   */
  update(rows: readonly PartRow[], isComing: boolean, sentence: string): number | null {
    this.#rows = rows.filter(
      ({ status, taskId }) =>
        (status === "saved" && !this.#unreadable.has(taskId)) ||
        (isComing && !["saved", "failed"].includes(status)),
    );
    this.#failed = rows.filter(({ status }) => status === "failed").map(({ number }) => number);
    if (this.#rows.length === 0) return null;
    this.#change.resolve();
    this.#change = Promise.withResolvers();
    if (isComing && !this.isOpen) {
      this.isOpen = true;
      getElement("#player").hidden = false;
      void this.#player.open(this);
    }
    this.#player.updateTimes();
    this.#showLabels();
    const failed =
      this.#failed.length === 0 ? "" : `Failed, so playing goes past it: part ${this.#failed.join(", ")}.`;
    const words = [...this.#unreadable.values(), this.#describeWait(), failed, isComing ? sentence : ""];
    showStatus(words.filter((each) => each !== "").join(" "));
    return this.#computePause();
  }

  isThere(seconds: number): boolean {
    return this.#findAt(seconds)?.status === "saved";
  }

  async readAt(seconds: number): Promise<Segment> {
    const wanted = this.#findAt(seconds)?.number ?? 1;
    let failureCount = 0;
    this.#readCount += 1;
    const countAtStart = this.#readCount;
    if (!this.isThere(seconds)) {
      this.#wait.resolve();
      this.#wait = Promise.withResolvers();
    }
    for (;;) {
      // Nobody waits for an earlier reading any more.
      if (countAtStart !== this.#readCount) return await new Promise(() => undefined);
      // A part that has failed meanwhile is passed over.
      const row = this.#rows.find(({ number }) => number >= wanted);
      this.#awaited = row === undefined || row.status === "saved" ? null : row.number;
      if (row?.status === "saved") {
        const segment = await this.#load(row).catch(async (error: unknown) => {
          if (error instanceof FormatError) throw error;
          failureCount += 1;
          const reason = error instanceof HostError ? error.message : "It cannot be read.";
          // It may be on another machine, so that only the joined file has it.
          if (failureCount < MAX_FAILURES) {
            await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
            return null;
          }
          failureCount = 0;
          this.#unreadable.set(row.taskId, `Playing goes past part ${row.number}: ${reason}`);
          this.#rows = this.#rows.filter((each) => each !== row);
          return null;
        });
        if (segment !== null) return segment;
      } else await this.#change.promise;
    }
  }

  /** Shows the parts as buttons that jump. */
  buildButton({ number, status, text }: PartRow): HTMLElement {
    const jump = makeElement(
      "button",
      "",
      makeElement("span", `${number} ${status}`),
      makeElement("bdi", text),
    );
    jump.onclick = () => {
      const row = this.#rows.find((each) => each.number >= number);
      if (row !== undefined && this.isOpen) void this.#player.seek(row.startSeconds);
      const wait = this.#describeWait();
      if (wait !== "") showStatus(wait);
    };
    return makeElement("li", "", jump);
  }

  #findAt(seconds: number): PartRow | undefined {
    return this.#rows.findLast(({ startSeconds }) => startSeconds <= seconds + 0.001) ?? this.#rows[0];
  }

  #describeWait(): string {
    const row = this.#rows.find(({ number }) => number === this.#awaited);
    if (row?.readySeconds == null || !this.#player.isLoading) return "";
    return `Part ${row.number} is likely in about ${formatWait(row.readySeconds)}.`;
  }

  #computePause(): number | null {
    const { isPlaying, isLoading, positionSeconds } = this.#player;
    if (isLoading) return SHORTEST_PAUSE;
    const missing = this.#rows.find(
      ({ status, startSeconds }) => status !== "saved" && startSeconds > positionSeconds,
    );
    if (!isPlaying || missing === undefined) return null;
    const pause = (missing.startSeconds - positionSeconds) / 3;
    return Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, pause));
  }

  async #load(row: PartRow): Promise<Segment> {
    const { taskId } = row;
    const { bytes, mimeType } = await readWholeFile(`audio://tasks/${encodeURIComponent(taskId)}/content`);
    if (!Object.values(MIME_TYPES).includes(mimeType)) {
      const error = new FormatError("In this format, only the joined file can be played.");
      this.#unreadable.set("", error.message);
      throw error;
    }
    if (!this.#cues.has(taskId)) void this.#loadCues(row);
    return this.#buildSegment(row, bytes, mimeType);
  }

  /** Builds a segment whose times follow those of its part, which move while parts before it are made. */
  #buildSegment({ number, taskId }: PartRow, bytes: Uint8Array<ArrayBuffer>, mimeType: string): Segment {
    const getRows = () => this.#rows;
    let [start, length] = [0, 0];
    const measure = (): void => {
      const index = getRows().findIndex((row) => row.number === number);
      const row = getRows()[index];
      if (row === undefined) return;
      start = row.startSeconds;
      const end = getRows()[index + 1]?.startSeconds ?? start + (row.seconds ?? 0) + LAST_PART_MARGIN_SECONDS;
      // Another take of the part has another length.
      if (row.taskId === taskId) length = end - start;
    };
    return {
      get startSeconds() {
        measure();
        return start;
      },
      get endSeconds() {
        measure();
        return start + length;
      },
      get isLast() {
        return (getRows().at(-1)?.number ?? 0) <= number;
      },
      leadInSeconds: 0,
      bytes,
      mimeType,
    };
  }

  async #loadCues({ number, taskId }: PartRow): Promise<void> {
    this.#cues.set(taskId, []);
    const captions = await readTextFile(`audio://narrations/${this.id}/parts/${number}/captions`);
    this.#cues.set(taskId, parseCues(captions));
    this.#showLabels();
  }

  #showLabels(): void {
    if (!this.isOpen) return;
    const cues = this.#rows.flatMap(({ taskId, startSeconds: start }) =>
      (this.#cues.get(taskId) ?? []).map((cue) => ({
        ...cue,
        startSeconds: start + cue.startSeconds,
        endSeconds: start + cue.endSeconds,
      })),
    );
    const chapters = this.#rows.filter(
      ({ chapter }, index) => chapter !== (this.#rows[index - 1]?.chapter ?? ""),
    );
    const labels = chapters.map(({ startSeconds, chapter }): TimedLabel => ({ startSeconds, text: chapter }));
    this.#lists.set(
      cues,
      labels.filter(({ text }) => text !== ""),
    );
  }
}
