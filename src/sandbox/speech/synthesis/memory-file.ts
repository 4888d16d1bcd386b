/** A file in memory, which grows as it is written. */
export class MemoryFile {
  #bytes: Uint8Array;
  #length: number;
  position = 0;

  constructor(initial: Uint8Array) {
    this.#bytes = initial;
    this.#length = initial.length;
  }

  get length(): number {
    return this.#length;
  }

  truncate(): void {
    this.#length = 0;
  }

  read(target: Uint8Array): number {
    const readBytes = this.#bytes.subarray(
      this.position,
      Math.min(this.#length, this.position + target.length),
    );
    target.set(readBytes);
    this.position += readBytes.length;
    return readBytes.length;
  }

  write(source: Uint8Array): void {
    const end = this.position + source.length;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, this.#bytes.length * 2));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(source, this.position);
    this.position = end;
    this.#length = Math.max(this.#length, end);
  }

  contents(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}
