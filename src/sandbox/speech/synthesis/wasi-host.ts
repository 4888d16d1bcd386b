/**
 * Runs WASI commands with arguments and one file in memory. The clock is always 0, so that every run has the same
 * result. Output of the program is used only for error messages.
 */

const ERRNO = { success: 0, badFile: 8, noEntry: 44, notSupported: 58 };
const FILE_TYPE = { directory: 3, regular: 4, character: 2 };
const ROOT_FD = 3;
const FILE_FD = 4;
const OPEN_TRUNCATES = 8;
const ALL_RIGHTS = 0xffff_ffff_ffff_ffffn;
const WHENCE_START = 0;
const WHENCE_CURRENT = 1;
const MAX_OUTPUT_CHARACTERS = 2000;

class ProgramExit extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`the program ended with code ${code}`);
    this.code = code;
  }
}

/** The input of one run of a command. */
export interface ProgramRun {
  /** The arguments, beginning with the program's name, as C programs expect. */
  readonly args: readonly string[];
  /** Content of the in-memory file before the run. */
  readonly file: Uint8Array;
}

/** The state of one run. */
interface Session {
  readonly args: readonly Uint8Array[];
  /** The only file. The program gets this file whatever name it asks for. */
  readonly file: MemoryFile;
  output: string;
}

/** An instantiated command. */
interface Loaded {
  readonly memory: WebAssembly.Memory;
  /** A copy of the memory as it was before the first run. */
  readonly pristine: Uint8Array;
  readonly start: () => unknown;
  session: Session;
}

/**
 * Runs a WASI command any number of times, each time from the same initial state. The 18 MB of memory are reset
 * between runs, because allocating them again would take about half the time of a short run.
 */
export class Program {
  readonly #module: WebAssembly.Module;
  #loaded: Loaded | undefined;

  constructor(module: WebAssembly.Module) {
    this.#module = module;
  }

  /**
   * Runs the command to its end.
   *
   * @returns the content of the file after the run
   * @throws if the program traps or exits with a code other than 0
   */
  run({ args, file }: ProgramRun): Uint8Array {
    const encoded = args.map((arg) => new TextEncoder().encode(`${arg}\0`));
    const session: Session = { args: encoded, file: new MemoryFile(file), output: "" };
    const loaded = this.#ready(session);
    // The instance is reused only if its run returns normally, because a trap leaves the stack in an unknown state.
    this.#loaded = undefined;
    try {
      loaded.start();
      this.#loaded = loaded;
    } catch (error) {
      if (!(error instanceof ProgramExit)) throw error;
      if (error.code !== 0) throw new Error(`${error.message}: ${session.output.trim()}`);
    }
    return session.file.contents();
  }

  #ready(session: Session): Loaded {
    if (this.#loaded === undefined) return load(this.#module, session);
    const { memory, pristine } = this.#loaded;
    const bytes = new Uint8Array(memory.buffer);
    bytes.set(pristine);
    bytes.fill(0, pristine.length);
    this.#loaded.session = session;
    return this.#loaded;
  }
}

function load(module: WebAssembly.Module, first: Session): Loaded {
  let loaded: Loaded | undefined;
  const getLoadedProgram = (): Loaded => {
    if (loaded === undefined) throw new Error("the program called out before it had memory");
    return loaded;
  };
  const bytes = (): Uint8Array => new Uint8Array(getLoadedProgram().memory.buffer);
  const view = (): DataView => new DataView(getLoadedProgram().memory.buffer);

  /**
   * Calls `visit` with each buffer of a WASI list, and returns the total of the bytes that `visit` handled. Stops after
   * the first buffer that `visit` did not handle completely.
   */
  const eachBuffer = (list: number, count: number, visit: (buffer: Uint8Array) => number): number => {
    let total = 0;
    for (let index = 0; index < count; index++) {
      const start = view().getUint32(list + index * 8, true);
      const length = view().getUint32(list + index * 8 + 4, true);
      const visitedBytes = visit(bytes().subarray(start, start + length));
      total += visitedBytes;
      if (visitedBytes < length) break;
    }
    return total;
  };

  const imports = {
    args_sizes_get(countAt: number, sizeAt: number): number {
      const { args } = getLoadedProgram().session;
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
      for (const [index, arg] of getLoadedProgram().session.args.entries()) {
        view().setUint32(pointersAt + index * 4, text, true);
        bytes().set(arg, text);
        text += arg.length;
      }
      return ERRNO.success;
    },
    clock_time_get(_clock: number, _precision: bigint, pointer: number): number {
      view().setBigUint64(pointer, 0n, true);
      return ERRNO.success;
    },
    fd_prestat_get(fd: number, pointer: number): number {
      if (fd !== ROOT_FD) return ERRNO.badFile;
      view().setUint32(pointer, 0, true);
      view().setUint32(pointer + 4, 1, true);
      return ERRNO.success;
    },
    fd_prestat_dir_name(_fd: number, pointer: number): number {
      view().setUint8(pointer, "/".charCodeAt(0));
      return ERRNO.success;
    },
    fd_fdstat_get(fd: number, pointer: number): number {
      const type =
        fd === ROOT_FD ? FILE_TYPE.directory : fd === FILE_FD ? FILE_TYPE.regular : FILE_TYPE.character;
      view().setUint16(pointer, type, true);
      view().setUint16(pointer + 2, 0, true);
      view().setBigUint64(pointer + 8, ALL_RIGHTS, true);
      view().setBigUint64(pointer + 16, ALL_RIGHTS, true);
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
      const { file } = getLoadedProgram().session;
      file.position = 0;
      if ((openFlags & OPEN_TRUNCATES) !== 0) file.truncate();
      view().setUint32(fdAt, FILE_FD, true);
      return ERRNO.success;
    },
    fd_close: (): number => ERRNO.success,
    fd_read(fd: number, list: number, count: number, readAt: number): number {
      if (fd !== FILE_FD) return ERRNO.badFile;
      const total = eachBuffer(list, count, (buffer) => getLoadedProgram().session.file.read(buffer));
      view().setUint32(readAt, total, true);
      return ERRNO.success;
    },
    fd_seek(fd: number, offset: bigint, whence: number, positionAt: number): number {
      if (fd !== FILE_FD) return ERRNO.notSupported;
      const { file } = getLoadedProgram().session;
      const base = whence === WHENCE_START ? 0 : whence === WHENCE_CURRENT ? file.position : file.length;
      file.position = base + Number(offset);
      view().setBigUint64(positionAt, BigInt(file.position), true);
      return ERRNO.success;
    },
    fd_write(fd: number, list: number, count: number, writtenAt: number): number {
      const { session } = getLoadedProgram();
      const total = eachBuffer(list, count, (buffer) => {
        if (fd === FILE_FD) session.file.write(buffer);
        else
          session.output = `${session.output}${new TextDecoder().decode(buffer)}`.slice(
            -MAX_OUTPUT_CHARACTERS,
          );
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
  const { memory, _start: start } = exports;
  if (!(memory instanceof WebAssembly.Memory) || typeof start !== "function") {
    throw new TypeError("not a WASI command: it exports no memory or no _start");
  }
  const pristine = new Uint8Array(memory.buffer).slice();
  loaded = { memory, pristine, start: () => start(), session: first };
  return loaded;
}

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
