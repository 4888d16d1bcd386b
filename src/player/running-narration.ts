/** Plays a narration while it is made: its saved parts in reading order, as one sound that grows. */
import { type Cue, parseCues } from "./captions.ts";
import type { CompanionLists } from "./companion-lists.ts";
import { getElement, makeElement, showStatus } from "./elements.ts";
import { FileGoneError, HostError } from "./host.ts";
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

/** An estimate of a few seconds is no promise: the part may take longer. */
const formatWait = (seconds: number): string => {
  if (seconds < 5) return "a few seconds";
  return seconds < 90 ? `about ${seconds} s` : `about ${Math.round(seconds / 60)} min`;
};

export class RunningNarration implements SegmentReader {
  readonly isGrowing = true;
  readonly id: string;
  readonly #player: SoundPlayer;
  readonly #lists: CompanionLists;
  /** The parts that are saved or to come, in reading order. */
  #all: readonly PartRow[] = [];
  /** Those of them that can be read. */
  #rows: readonly PartRow[] = [];
  readonly #numbers = new WeakMap<Segment, number>();
  #failed: readonly number[] = [];
  /** Captions by task, from the beginning of its part. */
  readonly #cues = new Map<string, readonly Cue[]>();
  /** The number of the part that the player waits for. */
  #awaited: number | null = null;
  #change = Promise.withResolvers<void>();
  /** Resolves when the player begins to wait for a part. */
  #wait = Promise.withResolvers<void>();
  #readCount = 0;
  /** How often the chat has told how the parts stand. */
  #updateCount = 0;
  #isComing = false;
  #sentence = "";
  /** Why a part cannot be read at the moment. */
  #trouble = "";
  /** Why parts cannot be read, by task. */
  readonly #unreadable = new Map<string, string>();
  /** The parts that are shown as buttons. */
  #buttonsKey = "";

  constructor(id: string, player: SoundPlayer, lists: CompanionLists) {
    this.id = id;
    this.#player = player;
    this.#lists = lists;
  }

  /** Whether the player reads it. What it learns later is not shown, because the page shows something else. */
  get isOpen(): boolean {
    return this.#player.isOpen(this);
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
    this.#updateCount += 1;
    [this.#isComing, this.#sentence] = [isComing, sentence];
    this.#all = rows.filter(({ status }) => status === "saved" || (isComing && status !== "failed"));
    this.#chooseRows();
    this.#failed = rows.filter(({ status }) => status === "failed").map(({ number }) => number);
    if (this.#rows.length === 0) return null;
    this.#change.resolve();
    this.#change = Promise.withResolvers();
    if (isComing && !this.isOpen) {
      getElement("#player").hidden = false;
      void this.#player.open(this);
    }
    this.#player.updateTimes();
    this.#showLabels();
    this.#say();
    return this.#computePause();
  }

  isThere(seconds: number): boolean {
    return this.#findAt(seconds)?.status === "saved";
  }

  readAt(seconds: number): Promise<Segment | null> {
    return this.#read(this.#findAt(seconds)?.number ?? 1);
  }

  readAfter(segment: Segment): Promise<Segment | null> {
    return this.#read((this.#numbers.get(segment) ?? 0) + 1);
  }

  passOver(segment: Segment, reason: string): void {
    const row = this.#rows.find(({ number }) => number === this.#numbers.get(segment));
    if (row !== undefined) this.#passOver(row, reason);
  }

  /** Reads the first part from a number on that is there, or waits for it; null if none is coming. */
  async #read(wanted: number): Promise<Segment | null> {
    let failureCount = 0;
    this.#readCount += 1;
    const countAtStart = this.#readCount;
    // A part that has failed meanwhile is passed over.
    const find = (): PartRow | undefined => this.#rows.find(({ number }) => number >= wanted);
    if (find()?.status !== "saved") {
      this.#wait.resolve();
      this.#wait = Promise.withResolvers();
    }
    for (;;) {
      // Nobody waits for an earlier reading any more.
      if (countAtStart !== this.#readCount || !this.isOpen) return await new Promise(() => undefined);
      const row = find();
      this.#awaited = row === undefined || row.status === "saved" ? null : row.number;
      if (row === undefined) return null;
      if (row.status !== "saved") {
        await this.#change.promise;
        continue;
      }
      const updateCount = this.#updateCount;
      try {
        const segment = await this.#load(row);
        this.#trouble = "";
        return segment;
      } catch (error) {
        this.#trouble = error instanceof HostError ? error.message : "It cannot be read.";
        this.#say();
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        // A chat that has answered nothing meanwhile does not reach its server. Otherwise, it is the part: it may be on
        // another machine, so that only the joined file has it.
        if (error instanceof FileGoneError || updateCount !== this.#updateCount) failureCount += 1;
        if (failureCount < MAX_FAILURES) continue;
        failureCount = 0;
        this.#passOver(row, this.#trouble);
      }
    }
  }

  #passOver({ taskId, number }: PartRow, reason: string): void {
    this.#trouble = "";
    this.#unreadable.set(taskId, `Playing goes past part ${number}: ${reason}`);
    this.#chooseRows();
    this.#say();
  }

  #chooseRows(): void {
    this.#rows = this.#all.filter(
      ({ status, taskId }) => status !== "saved" || !this.#unreadable.has(taskId),
    );
  }

  /** Says what a listener should know. */
  #say(): void {
    if (!this.isOpen) return;
    const failed =
      this.#failed.length === 0 ? "" : `Failed, so playing goes past it: part ${this.#failed.join(", ")}.`;
    const now = [this.#trouble, this.#describeWait(), failed, this.#isComing ? this.#sentence : ""];
    showStatus([...this.#unreadable.values(), ...now].filter((each) => each !== "").join(" "));
  }

  /** Shows the parts as buttons that jump. */
  showButtons(parts: readonly PartRow[]): void {
    getElement("#parts").hidden = false;
    const key = parts.map(({ number, status, text }) => `${number} ${status} ${text}`).join("\n");
    if (key !== this.#buttonsKey)
      getElement("#parts").replaceChildren(...parts.map((part) => this.#buildButton(part)));
    this.#buttonsKey = key;
  }

  #buildButton({ number, status, text }: PartRow): HTMLElement {
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
    return `Part ${row.number} is likely in ${formatWait(row.readySeconds)}.`;
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
    if (!Object.values(MIME_TYPES).includes(mimeType)) throw new HostError("It cannot be played here.");
    if (!this.#cues.has(taskId)) void this.#loadCues(row);
    return this.#buildSegment(row, bytes, mimeType);
  }

  /** Builds a segment whose times follow those of its part, which move while parts before it are made. */
  #buildSegment({ number, taskId }: PartRow, bytes: Uint8Array<ArrayBuffer>, mimeType: string): Segment {
    const [getAll, getRows] = [() => this.#all, () => this.#rows];
    let [start, length] = [0, 0];
    const measure = (): void => {
      const index = getAll().findIndex((row) => row.number === number);
      const row = getAll()[index];
      if (row === undefined) return;
      start = row.startSeconds;
      const end = getAll()[index + 1]?.startSeconds ?? start + (row.seconds ?? 0) + LAST_PART_MARGIN_SECONDS;
      // Another take of the part has another length.
      if (row.taskId === taskId) length = Math.max(0, end - start);
    };
    const segment: Segment = {
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
    this.#numbers.set(segment, number);
    return segment;
  }

  async #loadCues({ number, taskId }: PartRow): Promise<void> {
    this.#cues.set(taskId, []);
    const captions = await readTextFile(`audio://narrations/${this.id}/parts/${number}/captions`);
    this.#cues.set(taskId, parseCues(captions));
    this.#showLabels();
  }

  #showLabels(): void {
    // The captions and chapters of the joined file are complete.
    if (!this.isOpen || this.#player.successor !== null) return;
    const cues = this.#rows.flatMap(({ taskId, startSeconds: start }) =>
      (this.#cues.get(taskId) ?? []).map((cue) => ({
        ...cue,
        startSeconds: start + cue.startSeconds,
        endSeconds: start + cue.endSeconds,
      })),
    );
    const chapters = this.#rows
      .filter(({ chapter }, index) => chapter !== "" && chapter !== this.#rows[index - 1]?.chapter)
      .map(({ startSeconds, chapter }) => ({ startSeconds, text: chapter }));
    this.#lists.set(cues, chapters);
  }
}
