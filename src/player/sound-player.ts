/** Plays a sound of any length, one segment after the other, without an audible gap. */
import { createElementPlayback, createSamplesPlayback, type Playback } from "./playback.ts";
import { DamagedFileError, type Segment, type SegmentReader } from "./segment-reader.ts";

export interface SoundPlayerEvents {
  /** Called when the position or the playing state has changed. */
  onChange(): void;
  /** Called when a segment was read and can be drawn. */
  onSegment(segment: Segment): void;
  onError(error: unknown): void;
}

/** Interval in milliseconds at which the player checks whether the next segment must begin. */
const TICK_MS = 60;
/**
 * How long before the end of a segment the next one is started, with a delay. Samples start at an exact time, so that
 * they can be started long before it.
 */
const START_ELEMENT_SECONDS = (5 * TICK_MS) / 1000;
const START_SAMPLES_SECONDS = 1;
/** Play starts again at the beginning if the position is this close to the end. */
const REPLAY_MARGIN_SECONDS = 0.05;
/** Minimum distance from the end to which a person can seek. At the end itself, nothing would be left to play. */
const SEEK_MARGIN_SECONDS = 0.01;
/**
 * Minimum time that is left to play when playing starts in the last segment. If the requested position leaves less,
 * playing starts earlier. A position from a longer take may leave less.
 */
const MIN_LEFT_SECONDS = 0.5;

/**
 * Plays one sound at a time, and loads it in segments. All positions are seconds of the whole sound. A new command,
 * such as `seek` or `pause`, cancels a command that is still loading a segment. Errors go to `onError`, so no method
 * rejects.
 */
export class SoundPlayer {
  readonly #events: SoundPlayerEvents;
  #reader: SegmentReader | null = null;
  /** A reader of the same sound, which replaces the other one at the next command, so that nobody hears the change. */
  successor: SegmentReader | null = null;
  #playback: Playback | null = null;
  /** The playback of the next segment, which is prepared while the current segment plays. */
  #nextPlayback: Promise<Playback | null> | null = null;
  #preparedPlayback: Playback | null = null;
  /** The playback whose segment is ending while the next one begins. */
  #endingPlayback: Playback | null = null;
  #positionSeconds = 0;
  #speed = 1;
  /** Counts commands. Asynchronous code compares this number, and changes nothing if a later command was given. */
  #commandCount = 0;
  #canUseElements = true;
  isPlaying = false;
  isLoading = false;
  /** True if Play was pressed and the bytes are still being read. */
  wantsToPlay = false;

  constructor(events: SoundPlayerEvents) {
    this.#events = events;
    setInterval(() => this.#tick(), TICK_MS);
  }

  /** True if the speed can be changed without changing the pitch. */
  get canChangeSpeed(): boolean {
    return this.#canUseElements;
  }

  /** Samples join parts without a gap; elements can change the speed. */
  get #wantsElements(): boolean {
    return this.#canUseElements && (this.#reader?.isGrowing !== true || this.#speed !== 1);
  }

  get durationSeconds(): number {
    const statedSeconds = this.#reader?.durationSeconds ?? 0;
    return Number.isFinite(statedSeconds) ? statedSeconds : (this.#playback?.segment.endSeconds ?? 0);
  }

  get positionSeconds(): number {
    return this.isPlaying && this.#playback !== null
      ? this.#playback.positionSeconds()
      : this.#positionSeconds;
  }

  /**
   * Replaces the current sound. If that sound was playing, plays the new one.
   *
   * @param startSeconds where to start
   */
  async open(reader: SegmentReader, startSeconds = 0): Promise<void> {
    const wasPlaying = this.isPlaying || this.wantsToPlay;
    this.close();
    this.#reader = reader;
    await this.#load(startSeconds, wasPlaying);
  }

  /** Returns whether a reader is the one that is read from. */
  isOpen(reader: SegmentReader): boolean {
    return this.#reader === reader;
  }

  /** Follows times that have moved. */
  updateTimes(): void {
    if (!this.isPlaying && !this.isLoading && this.#playback !== null)
      this.#positionSeconds = this.#playback.positionSeconds();
    this.#events.onChange();
  }

  close(): void {
    this.#commandCount += 1;
    this.successor = null;
    this.isPlaying = false;
    this.isLoading = false;
    this.wantsToPlay = false;
    this.#reader = null;
    this.#positionSeconds = 0;
    this.#drop();
    this.#events.onChange();
  }

  async play(): Promise<void> {
    if (this.#reader === null || this.isPlaying || this.wantsToPlay) return;
    const from =
      this.#positionSeconds >= this.durationSeconds - REPLAY_MARGIN_SECONDS ? 0 : this.#positionSeconds;
    await this.#load(from, true);
  }

  pause(): void {
    this.#positionSeconds = this.positionSeconds;
    this.isPlaying = false;
    this.wantsToPlay = false;
    this.#commandCount += 1;
    this.isLoading = false;
    this.#playback?.pause();
    this.#preparedPlayback?.pause();
    this.#events.onChange();
  }

  async seek(targetSeconds: number): Promise<void> {
    const to = Math.min(Math.max(0, targetSeconds), Math.max(0, this.durationSeconds - SEEK_MARGIN_SECONDS));
    if (this.#reader !== null) await this.#load(to, this.isPlaying || this.wantsToPlay);
  }

  setSpeed(speed: number): void {
    this.#speed = speed;
    if (this.#playback?.isSamples === this.#wantsElements) {
      const [position, plays] = [this.positionSeconds, this.isPlaying || this.wantsToPlay];
      this.#drop();
      void this.#load(position, plays);
      return;
    }
    this.#playback?.setSpeed(speed);
    void this.#nextPlayback?.then((playback) => playback?.setSpeed(speed)).catch(() => undefined);
  }

  async #load(requestedSeconds: number, plays: boolean): Promise<void> {
    this.#commandCount += 1;
    const countAtStart = this.#commandCount;
    let targetSeconds = requestedSeconds;
    if (this.successor !== null) {
      this.#drop();
      this.#reader = this.successor;
      this.successor = null;
    }
    const isThere = this.#reader?.isThere?.(targetSeconds) ?? true;
    this.#positionSeconds = targetSeconds;
    this.isLoading = true;
    this.isPlaying = false;
    this.wantsToPlay = plays;
    // Pause the playback of the next segment, because it may have started already.
    this.#preparedPlayback?.pause();
    this.#events.onChange();
    try {
      let playback = this.#playback;
      if (
        playback === null ||
        targetSeconds < playback.segment.startSeconds ||
        targetSeconds >= playback.segment.endSeconds
      ) {
        this.#drop();
        playback = await this.#loadPlayback(targetSeconds, null);
        if (countAtStart !== this.#commandCount) return playback?.release();
        if (playback === null) return this.#finish();
        this.#playback = playback;
        // The times of a part that was waited for may have moved.
        if (!isThere) targetSeconds = playback.segment.startSeconds;
      }
      // Limit the position to this sound's length, because the position may come from a longer take.
      if (playback.segment.isLast)
        targetSeconds = Math.min(
          targetSeconds,
          Math.max(playback.segment.startSeconds, playback.segment.endSeconds - MIN_LEFT_SECONDS),
        );
      this.#positionSeconds = targetSeconds;
      if (plays) {
        await playback.play(targetSeconds);
        if (countAtStart !== this.#commandCount) return;
        this.isPlaying = true;
      } else playback.pause();
      this.wantsToPlay = false;
      this.isLoading = false;
      this.#events.onChange();
    } catch (error) {
      if (countAtStart !== this.#commandCount) return;
      this.wantsToPlay = false;
      this.isLoading = false;
      this.#events.onChange();
      this.#events.onError(error);
    }
  }

  /**
   * Loads the segment that follows another one, or that contains a moment. Goes past segments that cannot be decoded,
   * if the reader can.
   */
  async #loadPlayback(targetSeconds: number, after: Segment | null): Promise<Playback | null> {
    const reader = this.#reader;
    if (reader === null) throw new Error("nothing is open");
    let previous = after;
    for (;;) {
      const next = previous === null ? undefined : reader.readAfter?.(previous);
      const segment = await (next ?? reader.readAt(targetSeconds));
      if (segment === null) return null;
      try {
        const playback = await this.#createPlayback(segment);
        playback.setSpeed(this.#speed);
        if (reader === this.#reader) this.#events.onSegment(playback.segment);
        return playback;
      } catch (error) {
        if (!(error instanceof DamagedFileError) || reader.passOver === undefined) throw error;
        reader.passOver(segment, error.message);
        previous = segment;
      }
    }
  }

  async #createPlayback(segment: Segment): Promise<Playback> {
    if (this.#wantsElements) {
      try {
        return await createElementPlayback(segment);
      } catch {
        // The element fails if the content policy forbids `media-src data:`, or if the bytes are damaged. If the bytes
        // are damaged, `createSamplesPlayback` throws. If it does not throw, the content policy is the cause, and later
        // segments are played without elements.
        const playback = await createSamplesPlayback(segment);
        this.#canUseElements = false;
        return playback;
      }
    }
    return await createSamplesPlayback(segment);
  }

  /**
   * Called at an interval. Starts the next segment shortly before the current segment ends. Pauses after the last
   * segment.
   */
  #tick(): void {
    const playback = this.#playback;
    if (!this.isPlaying || playback === null) return;
    this.#events.onChange();
    if (playback.segment.isLast) {
      if (playback.hasEnded()) this.#finish();
      return;
    }
    if (this.#nextPlayback === null) this.#prepare(playback.segment);
    const startsAt = playback.isSamples ? START_SAMPLES_SECONDS : START_ELEMENT_SECONDS;
    const isEnding = this.#computeSecondsLeft(playback) < startsAt;
    if (isEnding && this.#endingPlayback !== playback) void this.#playNext(playback);
  }

  /** Pauses at the end of the sound. */
  #finish(): void {
    this.pause();
    this.#positionSeconds = this.durationSeconds;
    this.#events.onChange();
  }

  #computeSecondsLeft(playback: Playback): number {
    const speed = playback.isSamples ? 1 : this.#speed;
    return Math.max(0, (playback.segment.endSeconds - playback.positionSeconds()) / speed);
  }

  #prepare(segment: Segment): void {
    const next = this.#loadPlayback(segment.endSeconds, segment);
    this.#nextPlayback = next;
    next.then(
      (playback) => {
        if (this.#nextPlayback === next) this.#preparedPlayback = playback;
      },
      // Ignore an error here. `#playNext` reports the error when the next segment has to play.
      () => undefined,
    );
  }

  async #playNext(playback: Playback): Promise<void> {
    const countAtStart = this.#commandCount;
    this.#endingPlayback = playback;
    try {
      // If the next segment does not arrive in time, pause at the end of the current segment, because the bytes of the
      // current segment also contain the first words of the next segment. Without the pause, these words would be heard
      // twice.
      const timer = setTimeout(() => {
        if (countAtStart !== this.#commandCount || this.#preparedPlayback !== null) return;
        playback.pause();
        this.isLoading = true;
        this.#events.onChange();
      }, this.#computeSecondsLeft(playback) * 1000);
      const next = await this.#nextPlayback?.finally(() => clearTimeout(timer));
      if (countAtStart !== this.#commandCount) return;
      if (next == null) {
        this.#nextPlayback = null;
        if (this.isLoading) this.#finish();
        return;
      }
      const { endSeconds } = playback.segment;
      const from = this.#reader?.isGrowing === true ? next.segment.startSeconds : endSeconds;
      await next.play(from, this.isLoading ? 0 : this.#computeSecondsLeft(playback));
      if (countAtStart !== this.#commandCount) return;
      this.isLoading = false;
      this.#playback = next;
      this.#nextPlayback = null;
      this.#preparedPlayback = null;
      playback.release();
    } catch (error) {
      if (countAtStart !== this.#commandCount) return;
      this.pause();
      this.#nextPlayback = null;
      this.#events.onError(error);
    } finally {
      if (this.#endingPlayback === playback) this.#endingPlayback = null;
    }
  }

  #drop(): void {
    this.#playback?.release();
    this.#playback = null;
    void this.#nextPlayback?.then((playback) => playback?.release()).catch(() => undefined);
    this.#nextPlayback = null;
    this.#preparedPlayback = null;
  }
}
