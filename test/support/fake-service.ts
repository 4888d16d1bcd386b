/**
 * A small service for tests that records every exchange and can misbehave in each of them. Its audio is not sound, but
 * bytes that begin like their format.
 */
import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { chargeForSeconds, RESERVED_CREDITS } from "../../src/contract/billing.ts";

export type ExchangeKind = "create" | "query" | "content" | "other";

export interface Exchange {
  readonly kind: ExchangeKind;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly key: string | undefined;
  readonly taskId: string | undefined;
  readonly atMs: number;
  /** The number of the exchange among those of its kind. The first is 1. */
  readonly ordinal: number;
  status?: number;
}

export interface FakeTask {
  readonly id: string;
  /** The account of the request, if each API key is an account. */
  readonly account: string;
  readonly key: string;
  readonly body: string;
  readonly acceptedAtMs: number;
  /** The time from acceptance to success. `undefined` if the service's `processingMs` applies. */
  readonly processingMs: number | undefined;
  readonly audio: Buffer;
  status: "queued" | "processing" | "succeeded" | "failed";
}

/** Answers an exchange in place of the service. Returns false if the service itself must answer. */
export type Interceptor = (
  exchange: Exchange,
  response: ServerResponse,
  service: FakeService,
) => boolean | Promise<boolean>;

export interface FakeServiceOptions {
  /** The time from acceptance to success. */
  readonly processingMs?: number;
  /** Returns the time from acceptance to success for a text, in place of `processingMs`. */
  readonly processingMsOf?: (prompt: string) => number;
  readonly audioSeconds?: number;
  readonly audioBytes?: number;
  /** Whether each task has its own audio, even tasks with the same text. */
  readonly hasDistinctSounds?: boolean;
  readonly apiKeys?: readonly string[];
  /**
   * Whether each API key is an account, which does not know the tasks of other accounts. Otherwise all keys share one
   * account.
   */
  readonly separateAccounts?: boolean;
  /** Enforces the contract's limits with windows of 60 s times this factor; absent: no limits. */
  readonly limitScale?: number;
}

const PATH = /^\/api\/v1\/audio\/generations(?:\/([^/]+)(\/content)?)?$/;

export const API_KEY = "sk-test-0123456789abcdef";

type RefusalArguments = [status: number, code: string, message?: string, retryAfterSeconds?: number];

export class FakeService {
  readonly exchanges: Exchange[] = [];
  readonly tasks = new Map<string, FakeTask>();
  readonly byKey = new Map<string, FakeTask>();
  intercept: Interceptor | undefined;
  processingMs: number;
  audioSeconds: number;
  /** The id of the next task, in place of a random one. */
  nextTaskId: string | undefined;
  readonly #options: FakeServiceOptions;
  readonly #server: Server;
  /** The times of the submissions in the current window, by account. */
  readonly #createTimes = new Map<string, number[]>();
  readonly #readTimes = new Map<string, number[]>();
  /** Number of 429 responses. */
  rateLimitedCount = 0;
  /** The largest sum of reserved and charged credits at any moment. */
  maxCommittedCredits = 0;

  private constructor(options: FakeServiceOptions) {
    this.#options = options;
    this.processingMs = options.processingMs ?? 0;
    this.audioSeconds = options.audioSeconds ?? 4;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
  }

  static async start(options: FakeServiceOptions = {}): Promise<FakeService> {
    const service = new FakeService(options);
    await new Promise<void>((resolve) => service.#server.listen(0, "127.0.0.1", resolve));
    return service;
  }

  get baseUrl(): string {
    const address = this.#server.address() as AddressInfo; // a server on TCP never returns a string
    return `http://127.0.0.1:${address.port}`;
  }

  get apiKey(): string {
    return this.#options.apiKeys?.[0] ?? API_KEY;
  }

  count(kind: ExchangeKind): number {
    return this.exchanges.filter((exchange) => exchange.kind === kind).length;
  }

  /** Returns the sum of the reservations of all tasks, ended tasks included. */
  get reservedCredits(): number {
    return this.tasks.size * RESERVED_CREDITS;
  }

  /** Returns the credits that running tasks have reserved, plus those charged for all other tasks. */
  #committedCredits(): number {
    let credits = 0;
    for (const task of this.tasks.values()) {
      const status = this.#statusNow(task);
      if (status === "succeeded") credits += chargeForSeconds(this.audioSeconds);
      else if (status !== "failed") credits += RESERVED_CREDITS;
    }
    return credits;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Breaks every connection, even those with unanswered requests. */
  dropConnections(): void {
    this.#server.closeAllConnections();
  }

  json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
    const text = JSON.stringify(body);
    response.writeHead(status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
      ...headers,
    });
    response.end(text);
  }

  refuse(
    response: ServerResponse,
    status: number,
    code: string,
    message = "refused by the test",
    retryAfterSeconds = 60,
  ): void {
    const headers: Record<string, string> = status === 429 ? { "retry-after": `${retryAfterSeconds}` } : {};
    if (status === 429) this.rateLimitedCount += 1;
    this.json(response, status, { error: { code, message } }, headers);
  }

  /** Refuses the first answers of a kind from now on, and answers all others normally. */
  refuseFirst(count: number, kind: ExchangeKind, ...why: RefusalArguments): void {
    let remaining = count;
    this.intercept = (exchange, response) => {
      if (exchange.kind !== kind || remaining <= 0) return false;
      remaining -= 1;
      this.refuse(response, ...why);
      return true;
    };
  }

  refuseEvery(kind: ExchangeKind, ...why: RefusalArguments): void {
    this.refuseFirst(Number.POSITIVE_INFINITY, kind, ...why);
  }

  /** Returns a task in the contract's form. */
  view(task: FakeTask, isNew = false): Record<string, unknown> {
    // A submission is answered `queued`, however fast the work is (docs/contract.md, States).
    if (!isNew) this.#progress(task);
    const done = task.status === "succeeded";
    const input: { output_format?: string; sample_rate?: number } = JSON.parse(task.body);
    const charged = done ? chargeForSeconds(this.audioSeconds) : task.status === "failed" ? 0 : null;
    return {
      id: task.id,
      object: "audio.generation",
      model: "audio-1.0",
      status: task.status,
      billing: {
        reserved_credits: RESERVED_CREDITS,
        charged_credits: charged,
        refunded_credits: charged === null ? null : RESERVED_CREDITS - charged,
      },
      output: done
        ? {
            url: `${this.baseUrl}/api/v1/audio/generations/${task.id}/content`,
            format: input.output_format ?? "mp3",
            sample_rate: input.sample_rate ?? 24000,
            duration: this.audioSeconds,
          }
        : null,
      usage: done ? { audio_seconds: this.audioSeconds } : null,
      error: task.status === "failed" ? { code: "generation_failed", message: "the voice was lost" } : null,
    };
  }

  /**
   * Makes a task for a submission, like the real service. Returns the existing task for a replay, and `conflict` if the
   * key was used with another body.
   */
  accept(exchange: Exchange): FakeTask | "conflict" {
    const key = exchange.key ?? "";
    const account = this.#accountOf(exchange);
    const existing = this.byKey.get(account + key);
    if (existing !== undefined) return existing.body === exchange.body ? existing : "conflict";
    const id = this.nextTaskId ?? `task-${randomBytes(6).toString("hex")}`;
    this.nextTaskId = undefined;
    const { prompt = "" }: { prompt?: string } = JSON.parse(exchange.body);
    const task: FakeTask = {
      id,
      account,
      key,
      body: exchange.body,
      acceptedAtMs: performance.now(),
      processingMs: this.#options.processingMsOf?.(prompt),
      audio: this.#audio(exchange.body, this.#options.hasDistinctSounds === true ? key : ""),
      status: "queued",
    };
    this.maxCommittedCredits = Math.max(
      this.maxCommittedCredits,
      this.#committedCredits() + RESERVED_CREDITS,
    );
    this.tasks.set(id, task);
    this.byKey.set(account + key, task);
    return task;
  }

  #accountOf(exchange: Exchange): string {
    return this.#options.separateAccounts === true ? `${exchange.headers.authorization} ` : "";
  }

  /** Returns bytes that begin like their format and differ for different requests. */
  #audio(body: string, salt: string): Buffer {
    const input: { output_format?: string; sample_rate?: number } = JSON.parse(body);
    const { output_format: format = "mp3", sample_rate: rateHz = 24_000 } = input;
    const heads: Record<string, Buffer> = {
      mp3: Buffer.from([0xff, 0xfb, 0x90, 0x00]),
      wav: Buffer.from("RIFF\0\0\0\0WAVEfmt "),
      ogg_opus: Buffer.from("OggS"),
      pcm: Buffer.alloc(0),
    };
    const head = heads[format] ?? Buffer.alloc(0);
    // The length of pcm follows from its size.
    const size = this.#options.audioBytes ?? (format === "pcm" ? this.audioSeconds * rateHz * 2 : 20_000);
    const seed = createHash("sha256")
      .update(body + salt)
      .digest();
    return Buffer.concat([head, Buffer.alloc(Math.max(0, size - head.length), seed)]);
  }

  #progress(task: FakeTask): void {
    task.status = this.#statusNow(task);
  }

  /** Returns the present status of a task without storing it, so a test can still make the task fail. */
  #statusNow(task: FakeTask): FakeTask["status"] {
    if (task.status === "failed" || task.status === "succeeded") return task.status;
    const elapsedMs = performance.now() - task.acceptedAtMs;
    const processingMs = task.processingMs ?? this.processingMs;
    if (elapsedMs >= processingMs) return "succeeded";
    return elapsedMs >= processingMs / 3 ? "processing" : task.status;
  }

  #isOverLimit(all: Map<string, number[]>, account: string, most: number): boolean {
    const scale = this.#options.limitScale;
    if (scale === undefined) return false;
    const times = all.get(account) ?? [];
    all.set(account, times);
    const nowMs = performance.now();
    while (times.length > 0 && (times[0] ?? 0) <= nowMs - 60_000 * scale) times.shift();
    if (times.length >= most) return true;
    times.push(nowMs);
    return false;
  }

  get runningTaskCount(): number {
    return this.#countRunning([...this.tasks.values()]);
  }

  #countRunning(tasks: readonly FakeTask[]): number {
    let count = 0;
    for (const task of tasks) {
      this.#progress(task);
      if (task.status === "queued" || task.status === "processing") count += 1;
    }
    return count;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const match = PATH.exec(request.url ?? "");
    const kind: ExchangeKind =
      match === null
        ? "other"
        : request.method === "POST"
          ? "create"
          : match[2] === undefined
            ? "query"
            : "content";
    const exchange: Exchange = {
      kind,
      method: request.method ?? "",
      url: request.url ?? "",
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
      key: request.headers["idempotency-key"]?.toString(),
      taskId: match?.[1] === undefined ? undefined : decodeURIComponent(match[1]),
      atMs: performance.now(),
      ordinal: this.count(kind) + 1,
    };
    this.exchanges.push(exchange);
    response.once("finish", () => {
      exchange.status = response.statusCode;
    });
    if (this.intercept !== undefined && (await this.intercept(exchange, response, this))) return;
    this.answer(exchange, response);
  }

  /** Answers an exchange as the service does without an interceptor. */
  answer(exchange: Exchange, response: ServerResponse): void {
    const keys = this.#options.apiKeys ?? [API_KEY];
    if (!keys.some((key) => exchange.headers.authorization === `Bearer ${key}`)) {
      this.refuse(response, 401, "invalid_api_key");
      return;
    }
    if (exchange.kind === "create") this.#answerSubmission(exchange, response);
    else this.#answerRead(exchange, response);
  }

  #answerSubmission(exchange: Exchange, response: ServerResponse): void {
    const account = this.#accountOf(exchange);
    if (this.#isOverLimit(this.#createTimes, account, 6)) {
      this.refuse(response, 429, "rate_limit");
      return;
    }
    const isNew = !this.byKey.has(account + (exchange.key ?? ""));
    const own = (): FakeTask[] => [...this.tasks.values()].filter((task) => task.account === account);
    if (isNew && this.#options.limitScale !== undefined && this.#countRunning(own()) >= 2) {
      this.refuse(response, 429, "concurrency_limit");
      return;
    }
    const task = this.accept(exchange);
    if (task === "conflict") this.refuse(response, 409, "idempotency_conflict");
    else this.json(response, 202, this.view(task, isNew));
  }

  #answerRead(exchange: Exchange, response: ServerResponse): void {
    if (this.#isOverLimit(this.#readTimes, this.#accountOf(exchange), 60)) {
      this.refuse(response, 429, "rate_limit");
      return;
    }
    const task = this.tasks.get(exchange.taskId ?? "");
    if (task === undefined || task.account !== this.#accountOf(exchange))
      this.refuse(response, 404, "not_found");
    else if (exchange.kind === "query") this.json(response, 200, this.view(task));
    else this.#answerContent(exchange, task, response);
  }

  #answerContent(exchange: Exchange, task: FakeTask, response: ServerResponse): void {
    this.#progress(task);
    if (task.status !== "succeeded") {
      this.refuse(response, 409, "not_ready");
      return;
    }
    const from = Number(/^bytes=(\d+)-$/.exec(exchange.headers.range ?? "")?.[1] ?? 0);
    const part = task.audio.subarray(from);
    response.writeHead(from > 0 ? 206 : 200, {
      "content-type": "application/octet-stream",
      "content-length": part.length,
      "cache-control": "no-store",
      ...(from > 0 ? { "content-range": `bytes ${from}-${task.audio.length - 1}/${task.audio.length}` } : {}),
    });
    response.end(exchange.method === "HEAD" ? undefined : part);
  }
}
