/**
 * The little operating system that a WASI command sees: arguments, swallowed output and one file in memory, with a stopped
 * clock so that it always does the same.
 */

const ERRNO = { success: 0, badFile: 8, noEntry: 44, notSupported: 58 };
const FILE_TYPE = { directory: 3, regular: 4, character: 2 };
const ROOT_FD = 3;
const FILE_FD = 4;
const OPEN_TRUNCATES = 8;
const ALL_RIGHTS = 0xffff_ffff_ffff_ffffn;
const WHENCE_START = 0;
const WHENCE_CURRENT = 1;
const OUTPUT_KEPT_BYTES = 2000;

class ProgramExit extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`the program ended with code ${code}`);
    this.code = code;
  }
}

/** A growing file: the only one there is, whatever name it is opened by. */
class MemoryFile {
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
    const taken = this.#bytes.subarray(this.position, Math.min(this.#length, this.position + target.length));
    target.set(taken);
    this.position += taken.length;
    return taken.length;
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

/** Runs one instance of a command to its end. */
export interface ProgramRun {
  /** The program's name first, as every C program expects. */
  readonly args: readonly string[];
  /** What the file holds before the program opens it. */
  readonly file: Uint8Array;
}

/**
 * Runs a WASI command in a fresh memory of its own.
 *
 * @returns the file as the program left it
 * @throws when the program traps or ends with a code other than 0
 */
export function runProgram(module: WebAssembly.Module, run: ProgramRun): Uint8Array {
  const args = run.args.map((arg) => new TextEncoder().encode(`${arg}\0`));
  const file = new MemoryFile(run.file);
  let output = "";
  let memory: WebAssembly.Memory | undefined;
  const bytes = (): Uint8Array => {
    if (memory === undefined) throw new Error("the program called out before it had memory");
    return new Uint8Array(memory.buffer);
  };
  const view = (): DataView => new DataView(bytes().buffer);

  /** Calls `visit` with each buffer of a scatter list, until it answers less than the buffer's length. */
  const eachBuffer = (list: number, count: number, visit: (buffer: Uint8Array) => number): number => {
    let total = 0;
    for (let index = 0; index < count; index++) {
      const start = view().getUint32(list + index * 8, true);
      const length = view().getUint32(list + index * 8 + 4, true);
      const done = visit(bytes().subarray(start, start + length));
      total += done;
      if (done < length) break;
    }
    return total;
  };

  const imports = {
    args_sizes_get(countAt: number, sizeAt: number): number {
      view().setUint32(countAt, args.length, true);
      view().setUint32(
        sizeAt,
        args.reduce((total, arg) => total + arg.length, 0),
        true,
      );
      return ERRNO.success;
    },
    args_get(pointersAt: number, textAt: number): number {
      let text = textAt;
      for (const [index, arg] of args.entries()) {
        view().setUint32(pointersAt + index * 4, text, true);
        bytes().set(arg, text);
        text += arg.length;
      }
      return ERRNO.success;
    },
    clock_time_get(_clock: number, _precision: bigint, at: number): number {
      view().setBigUint64(at, 0n, true);
      return ERRNO.success;
    },
    fd_prestat_get(fd: number, at: number): number {
      if (fd !== ROOT_FD) return ERRNO.badFile;
      view().setUint32(at, 0, true);
      view().setUint32(at + 4, 1, true);
      return ERRNO.success;
    },
    fd_prestat_dir_name(_fd: number, at: number): number {
      view().setUint8(at, "/".charCodeAt(0));
      return ERRNO.success;
    },
    fd_fdstat_get(fd: number, at: number): number {
      const type =
        fd === ROOT_FD ? FILE_TYPE.directory : fd === FILE_FD ? FILE_TYPE.regular : FILE_TYPE.character;
      view().setUint16(at, type, true);
      view().setUint16(at + 2, 0, true);
      view().setBigUint64(at + 8, ALL_RIGHTS, true);
      view().setBigUint64(at + 16, ALL_RIGHTS, true);
      return ERRNO.success;
    },
    fd_fdstat_set_flags: (): number => ERRNO.success,
    path_open(
      _directory: number,
      _lookup: number,
      _path: number,
      _pathLength: number,
      openFlags: number,
      _rights: bigint,
      _inheriting: bigint,
      _fdFlags: number,
      fdAt: number,
    ): number {
      file.position = 0;
      if ((openFlags & OPEN_TRUNCATES) !== 0) file.truncate();
      view().setUint32(fdAt, FILE_FD, true);
      return ERRNO.success;
    },
    fd_close: (): number => ERRNO.success,
    fd_read(fd: number, list: number, count: number, readAt: number): number {
      if (fd !== FILE_FD) return ERRNO.badFile;
      const total = eachBuffer(list, count, (buffer) => file.read(buffer));
      view().setUint32(readAt, total, true);
      return ERRNO.success;
    },
    fd_seek(fd: number, offset: bigint, whence: number, positionAt: number): number {
      if (fd !== FILE_FD) return ERRNO.notSupported;
      const base = whence === WHENCE_START ? 0 : whence === WHENCE_CURRENT ? file.position : file.length;
      file.position = base + Number(offset);
      view().setBigUint64(positionAt, BigInt(file.position), true);
      return ERRNO.success;
    },
    fd_write(fd: number, list: number, count: number, writtenAt: number): number {
      const total = eachBuffer(list, count, (buffer) => {
        if (fd === FILE_FD) file.write(buffer);
        else output = `${output}${new TextDecoder().decode(buffer)}`.slice(-OUTPUT_KEPT_BYTES);
        return buffer.length;
      });
      view().setUint32(writtenAt, total, true);
      return ERRNO.success;
    },
    proc_exit(code: number): never {
      throw new ProgramExit(code);
    },
  };

  const { exports } = new WebAssembly.Instance(module, { wasi_snapshot_preview1: imports });
  const { memory: exportedMemory, _start: start } = exports;
  if (!(exportedMemory instanceof WebAssembly.Memory) || typeof start !== "function") {
    throw new TypeError("not a WASI command: it exports no memory or no _start");
  }
  memory = exportedMemory;
  try {
    start();
  } catch (error) {
    if (!(error instanceof ProgramExit)) throw error;
    if (error.code !== 0) throw new Error(`${error.message}: ${output.trim()}`);
  }
  return file.contents();
}
