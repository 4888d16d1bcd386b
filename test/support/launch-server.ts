/** Starts the server under test: in this process where no process is the point, or else the built bin. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { startServer } from "../../src/commands/serve.ts";
import { BIN, IS_BIN_CHOSEN, NODE, NODE_FLAGS } from "./bin-under-test.ts";

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Time of the steady clock, in milliseconds. */
  readonly atMs: number;
}

/** A server, and the streams between it and its client. */
export interface LaunchedServer {
  readonly input: Writable;
  readonly output: Readable;
  /** The log so far. */
  readonly stderr: () => string;
  readonly exited: Promise<Exit>;
  /** Ends it at once, whatever it does: kills its process, or breaks its input. */
  readonly abort: () => void;
  /** The process of the built bin. Throws if the server runs in the process of the test. */
  readonly child: ChildProcessWithoutNullStreams;
}

export interface LaunchOptions {
  readonly args?: readonly string[];
  /** A copy of the bin to start in its place. */
  readonly bin?: string;
  /** Arguments for Node. They stand before the path of the bin. */
  readonly nodeArgs?: readonly string[];
  readonly cwd?: string | undefined;
  /** A command, with its arguments, that runs the bin, for example as on another machine. */
  readonly under?: readonly string[];
}

type Env = Readonly<Record<string, string>>;

/** Starts the built bin. */
export function launchBin(env: Env, options: LaunchOptions = {}): LaunchedServer {
  const { args = [], bin = BIN, nodeArgs = [], cwd, under = [] } = options;
  const [command = NODE, ...rest] = [...under, NODE, ...NODE_FLAGS, ...nodeArgs, bin, ...args];
  const child = spawn(command, rest, { env, cwd, stdio: "pipe" });
  child.stdin.on("error", () => undefined);
  child.stdout.on("error", () => undefined);
  let stderr = "";
  child.stderr.on("data", (chunk) => {
    stderr += String(chunk);
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal, atMs: performance.now() }));
    child.once("error", () => resolve({ code: null, signal: null, atMs: performance.now() }));
  });
  const abort = (): void => void child.kill("SIGKILL");
  return { input: child.stdin, output: child.stdout, stderr: () => stderr, exited, abort, child };
}

/** Starts a server in this process, which saves the start of a process. Its code is that of `src/`, not the bin's. */
export function launchServer(env: Env, options: Pick<LaunchOptions, "args"> = {}): LaunchedServer {
  if (IS_BIN_CHOSEN) return launchBin(env, options);
  const input = new PassThrough();
  const output = new PassThrough();
  let stderr = "";
  const host = {
    env,
    input,
    output,
    writeLog: (line: string): void => {
      stderr += line;
    },
  };
  const server = startServer(host, options.args?.includes("--sandbox") ?? false);
  const exited = new Promise<Exit>((resolve) => {
    input.once("close", () => {
      void server.close().finally(() => {
        output.end();
        resolve({ code: 0, signal: null, atMs: performance.now() });
      });
    });
  });
  return {
    input,
    output,
    stderr: () => stderr,
    exited,
    abort: () => void input.destroy(),
    get child(): never {
      throw new Error("this server has no process of its own: start the built bin");
    },
  };
}
