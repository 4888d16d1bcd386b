/** The environment of one client: its own home, variables and programs, and all processes that it starts. */
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

export interface Ended {
  /** `null`: ended by a signal, or by us because it took too long. */
  readonly code: number | null;
  readonly isTimedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

const RUN_WITHIN_MS = 120_000;
/** Time between the request to end and the kill. */
const GRACE_MS = 4_000;
/** A server is gone within this time after its client (docs/reference-requests.md, Stopping). */
export const SERVER_ENDS_WITHIN_MS = 2_000;

export class ClientEnvironment {
  readonly home: string;
  readonly work: string;
  readonly #bin: string;
  readonly #env: Record<string, string> = {};

  constructor(folder: string) {
    this.home = join(folder, "home");
    this.work = join(folder, "work");
    this.#bin = join(folder, "bin");
    for (const each of [this.home, this.work, this.#bin, join(this.home, "tmp")]) {
      mkdirSync(each, { recursive: true });
    }
    symlinkSync(process.execPath, join(this.#bin, "node"));
  }

  /** Environment variables of the client besides home and PATH. */
  setEnv(env: Record<string, string>): void {
    Object.assign(this.#env, env);
  }

  /**
   * Puts a command on this environment's PATH, which otherwise contains only Node.
   *
   * @param before arguments in front of the given ones
   * @param dropped number of given arguments to remove, such as the package name behind `npx`
   */
  addCommand(name: string, program: string, before: readonly string[] = [], dropped = 0): void {
    const words = [program, ...before].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
    const script = `#!/bin/sh\n${dropped === 0 ? "" : `shift ${dropped}\n`}exec ${words} "$@"\n`;
    const path = join(this.#bin, name);
    writeFileSync(path, script);
    chmodSync(path, 0o755);
  }

  /** Writes a file below the home folder. */
  putHome(name: string, text: string): void {
    this.#put(join(this.home, name), text);
  }

  /** Appends to a file below the home folder that a command has written. */
  appendHome(name: string, text: string): void {
    appendFileSync(join(this.home, name), text);
  }

  /** Writes a file below the folder in which commands run. */
  putWork(name: string, text: string): void {
    this.#put(join(this.work, name), text);
  }

  #put(path: string, text: string): void {
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
  shell(lines: string): Promise<Ended> {
    return this.run("/bin/sh", ["-e", "-c", lines]);
  }

  /** @param answers what to type when a question is printed; each is used once */
  run(
    command: string,
    args: readonly string[],
    answers: ReadonlyArray<readonly [question: RegExp, answer: string]> = [],
  ): Promise<Ended> {
    const child = spawn(command, args, {
      cwd: this.work,
      env: this.env,
      // An empty input, as for a script, unless the test gives answers.
      stdio: [answers.length === 0 ? "ignore" : "pipe", "pipe", "pipe"],
      // A separate process group, so that all processes started by it can be ended.
      detached: true,
    });
    let [stdout, stderr, isTimedOut] = ["", "", false];
    const open = [...answers];
    child.stdout?.on("data", (chunk) => {
      stdout += String(chunk);
      const at = open.findIndex(([question]) => question.test(stdout));
      if (at >= 0) child.stdin?.write(open.splice(at, 1)[0]?.[1] ?? "");
    });
    child.stderr?.on("data", (chunk) => {
      stderr += String(chunk);
    });
    const timer = setTimeout(() => {
      isTimedOut = true;
      endGroup(child.pid, "SIGTERM");
      setTimeout(() => endGroup(child.pid, "SIGKILL"), GRACE_MS).unref();
    }, RUN_WITHIN_MS);
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
   * Waits until all servers with this home have ended; kills all processes, and counts the servers. Works only on
   * Linux.
   */
  async endRest(): Promise<number> {
    const beganAtMs = performance.now();
    while (this.#servers().length > 0 && performance.now() - beganAtMs < SERVER_ENDS_WITHIN_MS) {
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    const servers = this.#servers();
    for (const pid of this.#processes()) if (isAlive(pid)) process.kill(pid, "SIGKILL");
    return servers.length;
  }

  /** Leaves out daemons of the client itself, such as Cline's hub. */
  #servers(): number[] {
    return this.#processes().filter((pid) =>
      /dist\/main\.js|bin\/audio-generation-mcp/.test(processFile(pid, "cmdline")),
    );
  }

  #processes(): number[] {
    if (process.platform !== "linux") return [];
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => processFile(pid, "environ").split("\0").includes(`HOME=${this.home}`));
  }
}

/** Reads a file of `/proc`; empty if the process has just ended, or belongs to another user. */
function processFile(pid: number, file: "environ" | "cmdline"): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // The whole group has ended.
  }
}
