/** Plays a sound of any length, one segment after the other, without an audible gap. */
import type { Segment, Source } from "./segment.ts";
import { elementVoice, samplesVoice, type Voice } from "./voices.ts";

export interface EngineEvents {
  /** Called when the position or the playing state has changed. */
  onChange(): void;
  /** Called when a segment was read and can be drawn. */
  onSegment(segment: Segment): void;
  onError(error: unknown): void;
}

/** Interval in milliseconds at which the engine checks whether the next segment must begin. */
const TICK_MS = 60;

export class Engine {
  readonly #events: EngineEvents;
  #source: Source | null = null;
  #voice: Voice | null = null;
  /** The voice of the next segment, which is prepared while the current segment plays. */
  #next: Promise<Voice> | null = null;
  #ready: Voice | null = null;
  /** The voice whose segment is ending while the next one begins. */
  #handingOver: Voice | null = null;
  #position = 0;
  #speed = 1;
  /** Counts commands. Asynchronous work of an earlier command compares this number and changes nothing. */
  #turn = 0;
  #canUseElements = true;
  isPlaying = false;
  isLoading = false;
  /** True if Play was pressed and the bytes are still being read. */
  wantsToPlay = false;

  constructor(events: EngineEvents) {
    this.#events = events;
    setInterval(() => this.#tick(), TICK_MS);
  }

  /** True if the speed can be changed without changing the pitch. */
  get hasSpeed(): boolean {
    return this.#canUseElements;
  }

  get seconds(): number {
    const stated = this.#source?.seconds ?? 0;
    return Number.isFinite(stated) ? stated : (this.#voice?.segment.to ?? 0);
  }

  get position(): number {
    return this.isPlaying && this.#voice !== null ? this.#voice.now() : this.#position;
  }

  /** Replaces the current sound; continues to play if it was playing. @param position where to start, in seconds */
  async open(source: Source, position = 0): Promise<void> {
    const wasPlaying = this.isPlaying || this.wantsToPlay;
    this.close();
    this.#source = source;
    await this.#load(position, wasPlaying);
  }

  close(): void {
    this.#turn += 1;
    this.isPlaying = false;
    this.isLoading = false;
    this.wantsToPlay = false;
    this.#source = null;
    this.#position = 0;
    this.#drop();
    this.#events.onChange();
  }

  async play(): Promise<void> {
    if (this.#source === null || this.isPlaying || this.wantsToPlay) return;
    const from = this.#position >= this.seconds - 0.05 ? 0 : this.#position;
    await this.#load(from, true);
  }

  pause(): void {
    this.#position = this.position;
    this.isPlaying = false;
    this.wantsToPlay = false;
    this.#turn += 1;
    this.isLoading = false;
    this.#voice?.pause();
    this.#ready?.pause();
    this.#events.onChange();
  }

  async seek(seconds: number): Promise<void> {
    const to = Math.min(Math.max(0, seconds), Math.max(0, this.seconds - 0.01));
    if (this.#source !== null) await this.#load(to, this.isPlaying || this.wantsToPlay);
  }

  setSpeed(speed: number): void {
    this.#speed = speed;
    this.#voice?.setSpeed(speed);
    void this.#next?.then((voice) => voice.setSpeed(speed)).catch(() => undefined);
  }

  async #load(wanted: number, plays: boolean): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    let at = wanted;
    this.#position = at;
    this.isLoading = true;
    this.isPlaying = false;
    this.wantsToPlay = plays;
    // The voice of the next segment may have started already.
    this.#ready?.pause();
    this.#events.onChange();
    try {
      let voice = this.#voice;
      if (voice === null || at < voice.segment.from || at >= voice.segment.to) {
        this.#drop();
        voice = await this.#voiceAt(at);
        if (turn !== this.#turn) return voice.release();
        this.#voice = voice;
      }
      // Limit the position to this sound, because it may come from a longer take.
      if (voice.segment.isLast) at = Math.min(at, Math.max(voice.segment.from, voice.segment.to - 0.5));
      this.#position = at;
      if (plays) {
        await voice.play(at);
        if (turn !== this.#turn) return;
        this.isPlaying = true;
      } else voice.pause();
      this.wantsToPlay = false;
      this.isLoading = false;
      this.#events.onChange();
    } catch (error) {
      if (turn !== this.#turn) return;
      this.wantsToPlay = false;
      this.isLoading = false;
      this.#events.onChange();
      this.#events.onError(error);
    }
  }

  async #voiceAt(at: number): Promise<Voice> {
    const source = this.#source;
    if (source === null) throw new Error("nothing is open");
    const segment = await source.at(at);
    const voice = await this.#voiceOf(segment);
    voice.setSpeed(this.#speed);
    if (source === this.#source) this.#events.onSegment(voice.segment);
    return voice;
  }

  async #voiceOf(segment: Segment): Promise<Voice> {
    if (this.#canUseElements) {
      try {
        return await elementVoice(segment);
      } catch {
        // The content policy forbids `media-src data:`, or the bytes are damaged. If damaged, decoding throws too.
        const voice = await samplesVoice(segment);
        this.#canUseElements = false;
        return voice;
      }
    }
    return await samplesVoice(segment);
  }

  /** Runs at an interval. Stops at the end of the sound, and starts the next segment at the end of the current one. */
  #tick(): void {
    const voice = this.#voice;
    if (!this.isPlaying || voice === null) return;
    this.#events.onChange();
    const { to, isLast } = voice.segment;
    if (isLast) {
      if (!voice.hasEnded()) return;
      this.pause();
      this.#position = this.seconds;
      this.#events.onChange();
      return;
    }
    if (this.#next === null) this.#prepare(to);
    const left = (to - voice.now()) / this.#speed;
    if (left < (2 * TICK_MS) / 1000 && this.#handingOver !== voice)
      void this.#handOver(voice, Math.max(0, left));
  }

  #prepare(at: number): void {
    const next = this.#voiceAt(at);
    this.#next = next;
    next.then(
      (voice) => {
        if (this.#next === next) this.#ready = voice;
      },
      // The error is reported when the next segment has to play.
      () => undefined,
    );
  }

  async #handOver(voice: Voice, left: number): Promise<void> {
    const turn = this.#turn;
    this.#handingOver = voice;
    try {
      if (this.#ready === null) {
        // The next segment has not arrived. Pauses, because the overlap of the segments would repeat words.
        await new Promise((resolve) => setTimeout(resolve, left * 1000));
        if (turn === this.#turn) voice.pause();
      }
      const late = this.#ready === null;
      const next = await this.#next;
      if (turn !== this.#turn || next == null) return;
      await next.play(voice.segment.to, late ? 0 : left);
      if (turn !== this.#turn) return;
      this.#voice = next;
      this.#next = null;
      this.#ready = null;
      voice.release();
    } catch (error) {
      if (turn !== this.#turn) return;
      this.pause();
      this.#next = null;
      this.#events.onError(error);
    } finally {
      if (this.#handingOver === voice) this.#handingOver = null;
    }
  }

  #drop(): void {
    this.#voice?.release();
    this.#voice = null;
    void this.#next?.then((voice) => voice.release()).catch(() => undefined);
    this.#next = null;
    this.#ready = null;
  }
}
