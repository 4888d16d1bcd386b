/** Owns a client that adds as little as possible to what it times: lines out, lines in. */
import { type ChildProcess, spawn } from "node:child_process";
import { tmpdir } from "node:os";
import type { Program } from "./contenders.ts";
import { residentMiB } from "./resident.ts";

interface Answer {
  readonly id?: number;
  readonly result?: Record<string, unknown>;
}

export class RawClient {
  readonly child: ChildProcess;
  readonly startedAt: number;
  readonly #exited: Promise<unknown>;
  readonly #waiting = new Map<number, (answer: Answer, bytes: number) => void>();
  #id = 0;
  #pending = "";

  constructor(program: Program, env: Readonly<Record<string, string>> = {}) {
    this.startedAt = performance.now();
    this.child = spawn(process.execPath, [...program.args], {
      stdio: ["pipe", "pipe", "ignore", ...(program.hasChannel === true ? (["ipc"] as const) : [])],
      // Some peers write logs where they are started.
      cwd: tmpdir(),
      env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...program.env, ...env },
    });
    this.#exited = new Promise((resolve) => this.child.once("close", resolve));
    this.child.stdin?.on("error", () => undefined);
    this.child.stdout?.setEncoding("utf8");
    this.child.stdout?.on("data", (chunk: string) => this.#read(chunk));
  }

  #read(chunk: string): void {
    this.#pending += chunk;
    for (let end = this.#pending.indexOf("\n"); end >= 0; end = this.#pending.indexOf("\n")) {
      const line = this.#pending.slice(0, end);
      this.#pending = this.#pending.slice(end + 1);
      const answer: Answer = JSON.parse(line);
      if (answer.id !== undefined) this.#waiting.get(answer.id)?.(answer, Buffer.byteLength(line));
    }
  }

  /** The result, and how many bytes its line had. */
  request(
    method: string,
    params: Record<string, unknown>,
  ): Promise<{ result: Record<string, unknown>; bytes: number }> {
    this.#id += 1;
    const id = this.#id;
    const answered = new Promise<{ result: Record<string, unknown>; bytes: number }>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method} was not answered within 60 s`)), 60_000);
      this.#waiting.set(id, (answer, bytes) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve({ result: answer.result ?? {}, bytes });
      });
    });
    this.child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return answered;
  }

  async initialize(): Promise<void> {
    await this.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "bench", version: "1" },
    });
    this.child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  }

  call(name: string, args: Record<string, unknown>) {
    return this.request("tools/call", { name, arguments: args });
  }

  residentMiB(which: "now" | "peak" = "now"): number {
    return residentMiB(this.child.pid ?? Number.NaN, which);
  }

  /** Open files and sockets; Linux only. */
  async openHandles(): Promise<number> {
    const { readdir } = await import("node:fs/promises");
    return await readdir(`/proc/${this.child.pid}/fd`).then(
      (names) => names.length,
      () => Number.NaN,
    );
  }

  async stop(): Promise<void> {
    this.child.stdin?.end();
    const timer = setTimeout(() => this.child.kill("SIGKILL"), 3000);
    await this.#exited;
    clearTimeout(timer);
  }
}
