/** Maps frames of a part to byte positions, with a bounded number of entries. */

const MAX_ENTRIES = 128;

/**
 * Keeps the byte positions of at most 128 evenly spaced frames of a part, and estimates the other positions from them.
 * The position of a frame is the total size of all earlier frames.
 */
export class FramePositions {
  /** Byte position of every `#stride`th frame. */
  #positionsBytes: number[] = [];
  #stride = 1;

  /** Records the position of a frame. Must be called for each frame, in order. */
  record(frame: number, positionBytes: number): void {
    if (frame % this.#stride !== 0) return;
    this.#positionsBytes.push(positionBytes);
    if (this.#positionsBytes.length < MAX_ENTRIES) return;
    this.#positionsBytes = this.#positionsBytes.filter((_, index) => index % 2 === 0);
    this.#stride *= 2;
  }

  /** Estimates how many bytes precede a frame, given the total number of frames and bytes. */
  estimateBytesBefore(frame: number, frames: number, bytes: number): number {
    const index = Math.min(Math.floor(frame / this.#stride), this.#positionsBytes.length - 1);
    const from = index * this.#stride;
    const isLast = index === this.#positionsBytes.length - 1;
    const to = isLast ? frames : from + this.#stride;
    const fromBytes = this.#positionsBytes[index] ?? 0;
    const toBytes = isLast ? bytes : (this.#positionsBytes[index + 1] ?? bytes);
    return fromBytes + ((toBytes - fromBytes) * (frame - from)) / Math.max(1, to - from);
  }
}
