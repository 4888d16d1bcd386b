/** One server, driven line by line without a client library. Checks only that each line is protocol. */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { createInterface } from "node:readline";
import { z } from "zod";
import {
  type Exit,
  type LaunchedServer,
  type LaunchOptions,
  launchBin,
  launchServer,
} from "../support/launch-server.ts";
import { type ToolOutcome, toolResult } from "../support/tool-result.ts";

const message = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.number(), z.string()]).nullable().optional(),
  method: z.string().optional(),
  params: z.record(z.string(), z.unknown()).optional(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
});
export type Message = z.infer<typeof message>;

export { toolResult } from "../support/tool-result.ts";
export type Outcome = ToolOutcome;

export interface StartOptions extends LaunchOptions {
  /** Whether the server runs in this process, because no process is the point of the test. */
  readonly isInProcess?: boolean;
  /** `false`: nobody reads stdout, as with a client that hangs. */
  readonly isRead?: boolean;
  /** `false`: skips the handshake. */
  readonly isInitialized?: boolean;
}

/**
 * Time limit of an answer. It is longer than any call of these tests. If an answer is missing, the test fails with the
 * id of the request, and does not hang.
 */
const ANSWER_WITHIN_MS = 100_000;

export class RawServer {
  readonly #server: LaunchedServer;
  /** Every line of stdout, as received. */
  readonly lines: string[] = [];
  /** Lines of stdout that are not JSON-RPC. */
  readonly strays: string[] = [];
  readonly notifications: Message[] = [];
  readonly answers = new Map<number | string, Message>();
  #exit: Exit | undefined;
  #lastId = 0;
  readonly #waiting = new Map<number | string, (answer: Message) => void>();

  private constructor(server: LaunchedServer, isRead: boolean) {
    this.#server = server;
    void server.exited.then((exit) => {
      this.#exit = exit;
    });
    if (isRead) createInterface({ input: server.output }).on("line", (line) => this.#take(line));
  }

  get child(): ChildProcessWithoutNullStreams {
    return this.#server.child;
  }

  get isRunning(): boolean {
    return this.#exit === undefined;
  }

  get exited(): Promise<Exit> {
    return this.#server.exited;
  }

  get stderr(): string {
    return this.#server.stderr();
  }

  static async start(env: Record<string, string>, options: StartOptions = {}): Promise<RawServer> {
    const launch = options.isInProcess === true ? launchServer : launchBin;
    const server = new RawServer(launch(env, options), options.isRead ?? true);
    if (options.isInitialized ?? true) {
      await server.request("initialize", {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "fault-test", version: "1.0.0" },
      });
      server.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    }
    return server;
  }

  #take(line: string): void {
    this.lines.push(line);
    let parsed: Message;
    try {
      parsed = message.parse(JSON.parse(line));
    } catch {
      this.strays.push(line);
      return;
    }
    if (parsed.method !== undefined) this.notifications.push(parsed);
    else if (parsed.id != null) {
      this.answers.set(parsed.id, parsed);
      this.#waiting.get(parsed.id)?.(parsed);
    }
  }

  /** Sends a message, or a text as a line. */
  send(line: Record<string, unknown> | string): void {
    this.#server.input.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
  }

  /** Sends bytes as they are. */
  write(bytes: Buffer | string): void {
    this.#server.input.write(bytes);
  }

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** Resolves with the answer to the request of an id, even if the answer has already arrived. */
  answerTo(id: number | string, withinMs: number = ANSWER_WITHIN_MS): Promise<Message> {
    const early = this.answers.get(id);
    if (early !== undefined) return Promise.resolve(early);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`no answer to ${id}; stderr: ${this.stderr.slice(-2000)}`)),
        withinMs,
      );
      const stopWaiting = (end: () => void): void => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        end();
      };
      this.#waiting.set(id, (answer) => stopWaiting(() => resolve(answer)));
      void this.exited.then(() =>
        stopWaiting(() =>
          reject(new Error(`exited before answering ${id}; stderr: ${this.stderr.slice(-2000)}`)),
        ),
      );
    });
  }

  async request(method: string, params: Record<string, unknown> = {}): Promise<Message> {
    const id = this.nextId();
    const answer = this.answerTo(id);
    this.send({ jsonrpc: "2.0", id, method, params });
    return await answer;
  }

  /** Sends a tool call and returns its id at once. */
  begin(name: string, args: Record<string, unknown>, meta?: Record<string, unknown>): number {
    const id = this.nextId();
    const params = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) };
    this.send({ jsonrpc: "2.0", id, method: "tools/call", params });
    return id;
  }

  async outcomeOf(id: number): Promise<Outcome> {
    const answer = await this.answerTo(id);
    if (answer.result === undefined) throw new Error(`a protocol error: ${JSON.stringify(answer.error)}`);
    return toolResult.parse(answer.result);
  }

  async call(name: string, args: Record<string, unknown>): Promise<Outcome> {
    return await this.outcomeOf(this.begin(name, args));
  }

  cancel(id: number): void {
    this.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
  }

  /** Ends stdin, like a client that leaves, and waits for the exit. Kills the process after 60 s. */
  async end(): Promise<Exit> {
    this.#server.input.end();
    return await this.exitWithin(60_000);
  }

  /** Kills the process, and waits until it is gone. */
  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }

  /** Ends the server at once, whatever it does. */
  abort(): void {
    this.#server.abort();
  }

  /** Resolves with the exit. Ends the server after `ms`, so that no test leaves a process behind. */
  async exitWithin(ms: number): Promise<Exit> {
    const timer = setTimeout(() => this.abort(), ms);
    try {
      return await this.exited;
    } finally {
      clearTimeout(timer);
    }
  }
}
