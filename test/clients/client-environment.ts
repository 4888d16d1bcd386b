/** The isolated environment of one client: its home folder, its variables and programs, and the processes it starts. */
import { spawn } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { isAlive } from "../support/processes.ts";

/** How a process ended, and what it printed. */
export interface ProcessResult {
  /** `null` if a signal ended the process, for example after its time-out. */
  readonly code: number | null;
  readonly isTimedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

const RUN_TIMEOUT_MS = 120_000;
/** The time between SIGTERM and SIGKILL. */
const KILL_GRACE_MS = 4_000;
/** Maximum time between the end of a client and the end of its server (docs/reference-requests.md, Stopping). */
export const SERVER_EXIT_TIMEOUT_MS = 2_000;

export class ClientEnvironment {
  readonly home: string;
  readonly work: string;
  readonly #bin: string;
  readonly #env: Record<string, string> = {};

  constructor(folder: string) {
    this.home = join(folder, "home");
    this.work = join(folder, "work");
    this.#bin = join(folder, "bin");
    for (const path of [this.home, this.work, this.#bin, join(this.home, "tmp")]) {
      mkdirSync(path, { recursive: true });
    }
    symlinkSync(process.execPath, join(this.#bin, "node"));
  }

  /** Adds variables to the client's environment, which contains few others besides home and PATH. */
  setEnv(env: Record<string, string>): void {
    Object.assign(this.#env, env);
  }

  /**
   * Adds a command to this environment's PATH, which otherwise contains only Node. The command runs `program` with
   * `leadingArgs` and the arguments that the caller gives.
   *
   * @param droppedArgCount how many of the caller's first arguments to remove, such as the package name after `npx`
   */
  addCommand(name: string, program: string, leadingArgs: readonly string[] = [], droppedArgCount = 0): void {
    const words = [program, ...leadingArgs].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
    const script = `#!/bin/sh\n${droppedArgCount === 0 ? "" : `shift ${droppedArgCount}\n`}exec ${words} "$@"\n`;
    const path = join(this.#bin, name);
    writeFileSync(path, script);
    chmodSync(path, 0o755);
  }

  /** Writes a file below the home folder. */
  writeHomeFile(name: string, text: string): void {
    this.#writeFile(join(this.home, name), text);
  }

  /** Appends to a file that a command has written below the home folder. */
  appendHomeFile(name: string, text: string): void {
    appendFileSync(join(this.home, name), text);
  }

  /** Writes a file below the folder in which commands run. */
  writeWorkFile(name: string, text: string): void {
    this.#writeFile(join(this.work, name), text);
  }

  #writeFile(path: string, text: string): void {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  get env(): Record<string, string> {
    return {
      HOME: this.home,
      PATH: this.#bin,
      TMPDIR: join(this.home, "tmp"),
      LANG: "C.UTF-8",
      TERM: "dumb",
      ...this.#env,
    };
  }

  /** Runs shell commands as if a person pasted them. */
  shell(lines: string): Promise<ProcessResult> {
    return this.run("/bin/sh", ["-e", "-c", lines]);
  }

  /** @param answers what to type when the output matches a question; each answer is used once */
  run(
    command: string,
    args: readonly string[],
    answers: ReadonlyArray<readonly [question: RegExp, answer: string]> = [],
  ): Promise<ProcessResult> {
    const child = spawn(command, args, {
      cwd: this.work,
      env: this.env,
      // Without answers the input is empty, as for a script.
      stdio: [answers.length === 0 ? "ignore" : "pipe", "pipe", "pipe"],
      // A separate process group, so that all processes of the client can be ended together.
      detached: true,
    });
    let [stdout, stderr, isTimedOut] = ["", "", false];
    const remainingAnswers = [...answers];
    child.stdout?.on("data", (chunk) => {
      stdout += String(chunk);
      const answerIndex = remainingAnswers.findIndex(([question]) => question.test(stdout));
      if (answerIndex >= 0) child.stdin?.write(remainingAnswers.splice(answerIndex, 1)[0]?.[1] ?? "");
    });
    child.stderr?.on("data", (chunk) => {
      stderr += String(chunk);
    });
    const timer = setTimeout(() => {
      isTimedOut = true;
      signalGroup(child.pid, "SIGTERM");
      setTimeout(() => signalGroup(child.pid, "SIGKILL"), KILL_GRACE_MS).unref();
    }, RUN_TIMEOUT_MS);
    return new Promise((resolve) => {
      child.once("error", (error) => {
        clearTimeout(timer);
        resolve({ code: null, isTimedOut, stdout, stderr: `${stderr}${error.message}` });
      });
      child.once("close", (code) => {
        clearTimeout(timer);
        resolve({ code, isTimedOut, stdout, stderr });
      });
    });
  }

  /**
   * Waits until all servers with this home have ended, kills the remaining processes, and returns how many servers it
   * had to kill. Returns 0 on systems other than Linux.
   */
  async endRemainingProcesses(): Promise<number> {
    const beganAtMs = performance.now();
    while (this.#serverPids().length > 0 && performance.now() - beganAtMs < SERVER_EXIT_TIMEOUT_MS) {
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    const serverPids = this.#serverPids();
    for (const pid of this.#processPids()) if (isAlive(pid)) process.kill(pid, "SIGKILL");
    return serverPids.length;
  }

  /** The servers among the processes. Daemons of the client, such as Cline's hub, are not among them. */
  #serverPids(): number[] {
    return this.#processPids().filter((pid) =>
      /dist\/main\.js|bin\/audio-generation-mcp/.test(readProcessFile(pid, "cmdline")),
    );
  }

  #processPids(): number[] {
    if (process.platform !== "linux") return [];
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => readProcessFile(pid, "environ").split("\0").includes(`HOME=${this.home}`));
  }
}

/** Reads a file of `/proc`. Returns an empty text if the process has just ended or belongs to another user. */
function readProcessFile(pid: number, file: "environ" | "cmdline"): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // No process of the group is left.
  }
}
