/** Owns the four operations of the service's contract (section 4), one request each; retries nothing, counts no limit. */
import { type Clock, systemClock } from "../clock.ts";
import type { ProxySettings, ServiceAddress } from "../config.ts";
import { REQUEST_BODY_MAX_BYTES } from "../contract/limits.ts";
import { GENERATIONS_PATH, IDEMPOTENCY_KEY_HEADER, IDEMPOTENCY_KEY_PATTERN } from "../contract/wire.ts";
import { AudioError } from "../errors.ts";
import { StaleBytes } from "./causes.ts";
import { type ContentInfo, type ContentResponse, readContent } from "./content.ts";
import { parseContentLength, parseUnsatisfiedRange } from "./content-range.ts";
import { DEADLINES, type Deadlines } from "./deadlines.ts";
import { readJson, UnreadableBody } from "./json-body.ts";
import { createKeyGuard, type KeyGuard } from "./key-guard.ts";
import { type ObservedTask, readTask } from "./read-task.ts";
import { type Operation, rejectionError } from "./rejection.ts";
import { createTransport, type HttpResponse, type Transport } from "./transport.ts";

export type { ContentInfo, ContentResponse } from "./content.ts";
export type { ObservedTask } from "./read-task.ts";

/**
 * The service. Every failure is an {@link AudioError} (`network_error`, `timeout`, `unexpected_response` or a
 * code of contract 7), except an abort, which rejects with the signal's reason.
 */
export interface Service {
  /**
   * Creates or replays a task (4.1).
   *
   * @param body canonical AudioInput, sent as it is
   */
  create(body: string, idempotencyKey: string, signal: AbortSignal): Promise<ObservedTask>;
  /** Queries a task (4.2). */
  query(taskId: string, signal: AbortSignal): Promise<ObservedTask>;
  /**
   * Opens the audio (4.3) at a byte offset; a Range is sent only for one above 0. A 416, or a range other than the
   * one asked for, is `unexpected_response` with {@link StaleBytes} as its cause.
   */
  content(taskId: string, fromByte: number, signal: AbortSignal): Promise<ContentResponse>;
  /** HEAD of the audio (4.3). */
  contentInfo(taskId: string, signal: AbortSignal): Promise<ContentInfo>;
  /** Breaks off everything under way and lets go of the sockets. */
  close(): Promise<void>;
}

export interface ServiceOptions {
  readonly proxy: ProxySettings;
  /** For dates in `Retry-After`. */
  readonly clock?: Pick<Clock, "wallMs">;
  readonly deadlines?: Partial<Deadlines>;
}

/** The client of one service address. Nothing is loaded, resolved or connected before the first request. */
export function createService(address: ServiceAddress, options: ServiceOptions): Service {
  const deadlines = { ...DEADLINES, ...options.deadlines };
  return new HttpService(
    address,
    createTransport(address, options.proxy, deadlines),
    options.clock ?? systemClock,
    deadlines,
  );
}

class HttpService implements Service {
  readonly #transport: Transport;
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #deadlines: Deadlines;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #guard: KeyGuard;

  constructor(
    address: ServiceAddress,
    transport: Transport,
    clock: Pick<Clock, "wallMs">,
    deadlines: Deadlines,
  ) {
    this.#transport = transport;
    this.#clock = clock;
    this.#deadlines = deadlines;
    this.#guard = createKeyGuard(address.apiKey);
    this.#headers = {
      authorization: `Bearer ${address.apiKey}`,
      accept: "application/json",
      "accept-encoding": "identity",
      "user-agent": "audio-generation-mcp",
    };
  }

  async create(body: string, idempotencyKey: string, signal: AbortSignal): Promise<ObservedTask> {
    if (!IDEMPOTENCY_KEY_PATTERN.test(idempotencyKey)) {
      throw new AudioError("invalid_request", "The idempotency key does not have the contract's form.");
    }
    if (Buffer.byteLength(body) > REQUEST_BODY_MAX_BYTES) {
      const most = `${REQUEST_BODY_MAX_BYTES / 1024} KiB`;
      throw new AudioError("request_too_large", `The request is longer than the service's ${most}.`);
    }
    const response = await this.#transport.send({
      method: "POST",
      path: GENERATIONS_PATH,
      headers: {
        ...this.#headers,
        "content-type": "application/json",
        [IDEMPOTENCY_KEY_HEADER]: idempotencyKey,
      },
      body,
      deadlineMs: this.#deadlines.createMs,
      signal,
    });
    return this.#readTask(response, signal, "create", 202);
  }

  async query(taskId: string, signal: AbortSignal): Promise<ObservedTask> {
    const response = await this.#transport.send({
      method: "GET",
      path: this.#guard.taskPath(taskId),
      headers: this.#headers,
      deadlineMs: this.#deadlines.queryMs,
      signal,
    });
    const task = await this.#readTask(response, signal, "query", 200, taskId);
    if (task.taskId === taskId) return task;
    throw new AudioError("unexpected_response", "The service answered the query with another task.", {
      httpStatus: response.status,
      retryable: true,
      taskId,
    });
  }

  async content(taskId: string, fromByte: number, signal: AbortSignal): Promise<ContentResponse> {
    const response = await this.#transport.send({
      method: "GET",
      path: `${this.#guard.taskPath(taskId)}/content`,
      headers: {
        ...this.#headers,
        accept: "*/*",
        ...(fromByte > 0 ? { range: `bytes=${fromByte}-` } : {}),
      },
      deadlineMs: this.#deadlines.contentHeadersMs,
      signal,
    });
    if (response.status === 200 || response.status === 206) {
      response.releaseDeadline();
      return readContent(response, fromByte);
    }
    if (response.status !== 416) throw await this.#reject(response, signal, "content", taskId);
    const totalBytes = parseUnsatisfiedRange(response.header("content-range"));
    response.discard();
    throw new AudioError("unexpected_response", "The service has no such part of the audio (HTTP 416).", {
      httpStatus: 416,
      retryable: true,
      taskId,
      cause: new StaleBytes("range not satisfiable", totalBytes),
    });
  }

  async contentInfo(taskId: string, signal: AbortSignal): Promise<ContentInfo> {
    const response = await this.#transport.send({
      method: "HEAD",
      path: `${this.#guard.taskPath(taskId)}/content`,
      headers: { ...this.#headers, accept: "*/*" },
      deadlineMs: this.#deadlines.queryMs,
      signal,
    });
    response.discard();
    if (response.status === 200) {
      return { totalBytes: parseContentLength(response.header("content-length")) };
    }
    throw this.#rejection(response, "content", undefined, true, taskId);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  async #readTask(
    response: HttpResponse,
    signal: AbortSignal,
    operation: Operation,
    success: number,
    taskId?: string,
  ): Promise<ObservedTask> {
    if (response.status !== success) throw await this.#reject(response, signal, operation, taskId);
    const unexpected = (what: string, cause?: unknown): AudioError =>
      new AudioError("unexpected_response", what, {
        httpStatus: response.status,
        retryable: true,
        taskId,
        cause,
      });
    let body: unknown;
    try {
      body = await readJson(response);
    } catch (error) {
      if (error instanceof UnreadableBody) throw unexpected(`The service's answer ${error.message}.`, error);
      throw error;
    }
    const task = readTask(body, this.#guard.clean);
    if (task === null) throw unexpected("The service's answer is not a task with an id and a known status.");
    // It would go into URLs, results and the ledger, where the key must never be.
    if (this.#guard.holdsKey(task.taskId))
      throw unexpected("The service's answer names a task by the API key.");
    return task;
  }

  async #reject(
    response: HttpResponse,
    signal: AbortSignal,
    operation: Operation,
    taskId?: string,
  ): Promise<AudioError> {
    let body: unknown;
    let broken: AudioError | undefined;
    try {
      body = await readJson(response);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AudioError) broken = error;
      else if (!(error instanceof UnreadableBody)) throw error;
    }
    const isOtherSuccess = response.status >= 200 && response.status < 300;
    const strayId = isOtherSuccess ? readTask(body, this.#guard.clean)?.taskId : undefined;
    const stray = strayId !== undefined && this.#guard.holdsKey(strayId) ? undefined : strayId;
    const rejection = this.#rejection(response, operation, body, false, taskId ?? stray);
    // A status may say enough without its body; where it does not, the break of the connection is what happened.
    return broken !== undefined && rejection.code === "unexpected_response" ? broken : rejection;
  }

  #rejection(
    response: HttpResponse,
    operation: Operation,
    body: unknown,
    isBodiless: boolean,
    taskId?: string,
  ): AudioError {
    return rejectionError({
      status: response.status,
      operation,
      body,
      isBodiless,
      retryAfter: response.header("retry-after"),
      nowWallMs: this.#clock.wallMs(),
      taskId,
      redact: this.#guard.redact,
    });
  }
}
