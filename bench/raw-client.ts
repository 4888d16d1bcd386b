/** A client that adds as little as possible to the measured times: it writes and reads lines. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Program } from "./programs.ts";

type Result = Record<string, unknown>;

interface Answer {
  readonly id?: number;
  readonly result?: Result;
}

/** The whole environment of a server except PATH. */
export type ServerEnv = Readonly<Record<string, string>> & { readonly HOME: string };

const ANSWER_TIMEOUT_MS = 300_000;

export class RawClient {
  readonly startedAtMs = performance.now();
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #waiting = new Map<number, (result: Result) => void>();
  #id = 0;
  #pending = "";

  constructor(program: Program, env: ServerEnv) {
    this.#child = spawn(process.execPath, [...program.args], {
      stdio: ["pipe", "pipe", "ignore"],
      // Some peers write logs into the folder in which they are started.
      cwd: env.HOME,
      env: { PATH: process.env["PATH"] ?? "", ...program.env, ...env },
    });
    this.#exited = new Promise((resolve) => this.#child.once("close", resolve));
    this.#child.stdin?.on("error", () => undefined);
    this.#child.stdout?.setEncoding("utf8");
    this.#child.stdout?.on("data", (chunk: string) => this.#read(chunk));
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  #read(chunk: string): void {
    this.#pending += chunk;
    for (let end = this.#pending.indexOf("\n"); end >= 0; end = this.#pending.indexOf("\n")) {
      const answer: Answer = JSON.parse(this.#pending.slice(0, end));
      this.#pending = this.#pending.slice(end + 1);
      if (answer.id !== undefined) this.#waiting.get(answer.id)?.(answer.result ?? {});
    }
  }

  #send(message: Record<string, unknown>): void {
    this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  request(method: string, params: Record<string, unknown>): Promise<Result> {
    this.#id += 1;
    const id = this.#id;
    const answered = new Promise<Result>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method} was not answered`)), ANSWER_TIMEOUT_MS);
      this.#waiting.set(id, (result) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(result);
      });
    });
    this.#send({ id, method, params });
    return answered;
  }

  async initialize(): Promise<void> {
    await this.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "bench", version: "1" },
    });
    this.#send({ method: "notifications/initialized" });
  }

  call(name: string, args: Record<string, unknown>): Promise<Result> {
    return this.request("tools/call", { name, arguments: args });
  }

  async stop(): Promise<void> {
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 3000);
    await this.#exited;
    clearTimeout(timer);
  }
}

/** Runs a server until `use` has ended. */
export async function withServer<T>(
  program: Program,
  env: ServerEnv,
  use: (client: RawClient) => Promise<T>,
): Promise<T> {
  const client = new RawClient(program, env);
  try {
    await client.initialize();
    return await use(client);
  } finally {
    await client.stop();
  }
}
