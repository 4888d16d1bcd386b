/**
 * Runs WASI commands with arguments and one file in memory. The clock is always 0, so that every run has the same
 * result. Output of the program is used only for error messages.
 */
import { ConsoleStdout, File, PreopenDirectory, WASI } from "@bjorn3/browser_wasi_shim";

const MAX_OUTPUT_CHARACTERS = 2000;

/** The input of one run of a command. */
export interface ProgramRun {
  /** The arguments, beginning with the program's name, as C programs expect. */
  readonly args: readonly string[];
  /** The only file that the program sees. `name` is its path without the slash at the beginning. */
  readonly file: { readonly name: string; readonly content: Uint8Array };
}

/** The exports of a WASI command. */
interface Command {
  readonly memory: WebAssembly.Memory;
  readonly _start: () => unknown;
}

/** An instantiated command. */
interface Loaded {
  readonly exports: Command;
  /** A copy of the memory as it was before the first run. */
  readonly pristine: Uint8Array;
}

/**
 * Runs a WASI command any number of times, each time from the same initial state. The 18 MB of memory are reset
 * between runs, because allocating them again would take about half the time of a short run.
 */
export class Program {
  readonly #module: WebAssembly.Module;
  readonly #wasi = new WASI([], [], [], { debug: false });
  #loaded: Loaded | undefined;

  constructor(module: WebAssembly.Module) {
    this.#module = module;
    this.#wasi.wasiImport["clock_time_get"] = (_clock: number, _precision: bigint, pointer: number) => {
      new DataView(this.#wasi.inst.exports.memory.buffer).setBigUint64(pointer, 0n, true);
      return 0;
    };
  }

  /**
   * Runs the command to its end.
   *
   * @returns the content of the file after the run
   * @throws if the program traps or exits with a code other than 0
   */
  run({ args, file: { name, content } }: ProgramRun): Uint8Array {
    const file = new File(content);
    let output = "";
    const console = new ConsoleStdout((bytes) => {
      output = `${output}${new TextDecoder().decode(bytes)}`.slice(-MAX_OUTPUT_CHARACTERS);
    });
    this.#wasi.args = [...args];
    this.#wasi.fds = [console, console, console, new PreopenDirectory("/", new Map([[name, file]]))];
    const loaded = this.#ready();
    // The instance is reused only after a success, because a trap or an exit leaves the stack in an unknown state.
    this.#loaded = undefined;
    const code = this.#wasi.start(loaded);
    if (code !== 0) throw new Error(`the program ended with code ${code}: ${output.trim()}`);
    this.#loaded = loaded;
    return file.data;
  }

  #ready(): Loaded {
    if (this.#loaded === undefined) return this.#load();
    const { exports, pristine } = this.#loaded;
    const bytes = new Uint8Array(exports.memory.buffer);
    bytes.set(pristine);
    bytes.fill(0, pristine.length);
    return this.#loaded;
  }

  #load(): Loaded {
    const { exports } = new WebAssembly.Instance(this.#module, {
      wasi_snapshot_preview1: this.#wasi.wasiImport,
    });
    const { memory, _start } = exports;
    if (!(memory instanceof WebAssembly.Memory) || typeof _start !== "function") {
      throw new TypeError("not a WASI command: it exports no memory or no _start");
    }
    return { exports: { memory, _start: () => _start() }, pristine: new Uint8Array(memory.buffer).slice() };
  }
}
