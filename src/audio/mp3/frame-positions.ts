/** Maps frames of a part to byte positions, with a bounded number of entries. */

const MAX_MILESTONES = 128;

export class FramePositions {
  /** Byte position of every `#stride`th frame. */
  #bytes: number[] = [];
  #stride = 1;

  /** Records the position of a frame. Must be called for each frame, in order. */
  pass(frame: number, bytesBefore: number): void {
    if (frame % this.#stride !== 0) return;
    this.#bytes.push(bytesBefore);
    if (this.#bytes.length < MAX_MILESTONES) return;
    this.#bytes = this.#bytes.filter((_, index) => index % 2 === 0);
    this.#stride *= 2;
  }

  /** Estimates how many bytes precede a frame, given the total number of frames and bytes. */
  bytesBefore(frame: number, frames: number, bytes: number): number {
    const index = Math.min(Math.floor(frame / this.#stride), this.#bytes.length - 1);
    const from = index * this.#stride;
    const isLast = index === this.#bytes.length - 1;
    const to = isLast ? frames : from + this.#stride;
    const fromBytes = this.#bytes[index] ?? 0;
    const toBytes = isLast ? bytes : (this.#bytes[index + 1] ?? bytes);
    return fromBytes + ((toBytes - fromBytes) * (frame - from)) / Math.max(1, to - from);
  }
}
