/**
 * Runs a command of a shell: in this process where no process is the point, which saves the start of a process, or else
 * the built bin. In this process, its code is that of `src/`, not the bin's.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { vi } from "vitest";
import { run } from "../../src/commands/cli.ts";
import { BIN, IS_BIN_CHOSEN, NODE, NODE_FLAGS } from "./bin-under-test.ts";

type Env = Readonly<Record<string, string>>;

/** What a command has printed so far. */
export interface Said {
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCommand {
  readonly said: Said;
  /** Resolves to the exit code. */
  readonly ended: Promise<unknown>;
  /** Ends it as Ctrl-C does. */
  readonly interrupt: () => void;
}

export type EndedCommand = Said & { readonly code: unknown };

/** Starts the built bin, without standard input. */
export function startCommandProcess(args: readonly string[], env: Env): RunningCommand {
  const child = spawn(NODE, [...NODE_FLAGS, BIN, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (chunk) => {
      said[name] += String(chunk);
    });
  const ended = once(child, "close").then(([code]) => code);
  return { said, ended, interrupt: () => void child.kill("SIGINT") };
}

/** Thrown where a command ends the process. */
class Exited extends Error {}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
let isAnyRunning = false;

/** Starts a command in this process. It is the only one here until it ends, because it takes the environment and the streams. */
export function startCommand(args: readonly string[], env: Env): RunningCommand {
  if (IS_BIN_CHOSEN) return startCommandProcess(args, env);
  if (isAnyRunning) throw new Error("another command is running in this process");
  isAnyRunning = true;
  const said = { stdout: "", stderr: "" };
  const { env: ownEnv, exitCode: ownExitCode } = process;
  const ownListeners = SIGNALS.map((signal) => process.listeners(signal));
  process.env = { ...env };
  process.exitCode = undefined;
  const spies = [
    ...(["stdout", "stderr"] as const).map((name) =>
      vi.spyOn(process[name], "write").mockImplementation((chunk, ...rest: unknown[]) => {
        said[name] += String(chunk);
        for (const each of rest) if (typeof each === "function") each();
        return true;
      }),
    ),
    // The stream stays, so a listener of each command would stay as well.
    vi.spyOn(process.stdout, "on").mockReturnThis(),
    vi.spyOn(process, "exit").mockImplementation((code) => {
      process.exitCode = code ?? undefined;
      throw new Exited();
    }),
  ];
  const newListenersOf = (signal: (typeof SIGNALS)[number]) =>
    process.listeners(signal).filter((each) => !ownListeners[SIGNALS.indexOf(signal)]?.includes(each));
  const ended = run(args)
    .catch((error: unknown) => {
      if (!(error instanceof Exited)) throw error;
    })
    .then(() => process.exitCode ?? 0)
    .finally(() => {
      for (const spy of spies) spy.mockRestore();
      for (const signal of SIGNALS) for (const each of newListenersOf(signal)) process.off(signal, each);
      process.env = ownEnv;
      process.exitCode = ownExitCode;
      isAnyRunning = false;
    });
  const interrupt = (): void => {
    const listeners = newListenersOf("SIGINT");
    if (listeners.length === 0) throw new Error("the command does not listen to Ctrl-C yet");
    for (const each of listeners) each("SIGINT");
  };
  return { said, ended, interrupt };
}

/** Runs a command to its end, in this process. */
export async function runCommand(args: readonly string[], env: Env): Promise<EndedCommand> {
  const { said, ended } = startCommand(args, env);
  const code = await ended;
  return { ...said, code };
}
