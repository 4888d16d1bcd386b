/** Draws the waveform of the segments that have been read so far. */
import type { Segment } from "./segment-reader.ts";

/** Sample rate to decode to. A low rate suffices for a waveform and takes a fraction of the memory. */
const DRAWING_HERTZ = 8000;

/**
 * Draws the loudness of a sound on a canvas, as bars over time. A bar is low and pale until its part of the sound is
 * added.
 */
export class Waveform {
  readonly #canvas: HTMLCanvasElement;
  /** Loudness of each bar; -1 if the sound of that bar has not been read. */
  #bars: Float32Array;
  #played = 0;

  constructor(canvas: HTMLCanvasElement, bars = 160) {
    this.#canvas = canvas;
    this.#bars = new Float32Array(bars).fill(-1);
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  clear(): void {
    // Replace the array instead of clearing it, because the previous sound may still be decoded into the old array.
    this.#bars = new Float32Array(this.#bars.length).fill(-1);
    this.draw();
  }

  /**
   * Adds a segment. Ignores bytes that cannot be decoded, because the sound player reports them when it plays the
   * segment.
   */
  async add(
    { bytes, startSeconds, endSeconds, leadInSeconds }: Segment,
    statedSeconds: number,
  ): Promise<void> {
    const bars = this.#bars;
    const count = bars.length;
    // Draw nothing if the page has no decoder, as in some browsers and privacy modes.
    if (!("OfflineAudioContext" in globalThis)) return;
    const decoder = new OfflineAudioContext(1, 1, DRAWING_HERTZ);
    const buffer = await decoder.decodeAudioData(bytes.slice().buffer).catch(() => null);
    if (buffer === null) return;
    const seconds = Number.isFinite(statedSeconds) && statedSeconds > 0 ? statedSeconds : buffer.duration;
    const samples = buffer.getChannelData(0);
    const end = Math.min(endSeconds, startSeconds + buffer.duration - leadInSeconds);
    const first = Math.max(0, Math.floor((startSeconds / seconds) * count));
    const toSampleIndex = (bar: number): number =>
      Math.floor(((bar / count) * seconds - startSeconds + leadInSeconds) * DRAWING_HERTZ);
    for (let bar = first; bar < count && (bar / count) * seconds < end; bar += 1) {
      let sum = 0;
      const [start, stop] = [
        Math.max(0, toSampleIndex(bar)),
        Math.min(samples.length, toSampleIndex(bar + 1)),
      ];
      for (let offset = start; offset < stop; offset += 1) sum += (samples[offset] ?? 0) ** 2;
      if (stop > start) bars[bar] = Math.sqrt(sum / (stop - start));
    }
    this.draw();
  }

  /**
   * Marks how much of the sound has been played.
   *
   * @param played share of the sound, 0 to 1
   */
  setPlayedShare(played: number): void {
    const barsOf = (part: number): number => Math.round(part * this.#bars.length);
    const isSame = barsOf(played) === barsOf(this.#played);
    this.#played = played;
    if (!isSame) this.draw();
  }

  draw(): void {
    const canvas = this.#canvas;
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = width * scale;
    canvas.height = height * scale;
    const brush = canvas.getContext("2d");
    if (brush === null || width === 0) return;
    brush.scale(scale, scale);
    const style = getComputedStyle(canvas);
    const [unplayedColor, playedColor] = [
      style.getPropertyValue("--bar"),
      style.getPropertyValue("--accent"),
    ];
    const loudest = Math.max(0.02, ...this.#bars);
    const step = width / this.#bars.length;
    const barWidth = Math.max(1, step * 0.62);
    for (const [index, loudness] of this.#bars.entries()) {
      const barHeight = Math.max(2, (Math.max(0, loudness) / loudest) ** 0.7 * (height - 4));
      brush.fillStyle = (index + 0.5) / this.#bars.length <= this.#played ? playedColor : unplayedColor;
      brush.globalAlpha = loudness < 0 ? 0.5 : 1;
      brush.beginPath();
      brush.roundRect(index * step, (height - barHeight) / 2, barWidth, barHeight, barWidth / 2);
      brush.fill();
    }
  }
}
