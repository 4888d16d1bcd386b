/**
 * The service's operations (docs/contract.md, Endpoints). Each operation sends one request. Callers retry failed
 * requests, and keep to the service's limits.
 */
import { type Clock, systemClock } from "../clock.ts";
import { nameProxy, type ProxySetting } from "../config/proxy.ts";
import type { ServiceAccess } from "../config/service-address.ts";
import { MAX_REQUEST_BODY_BYTES } from "../contract/service-limits.ts";
import {
  buildTaskPath,
  GENERATIONS_PATH,
  IDEMPOTENCY_KEY_HEADER,
  IDEMPOTENCY_KEY_PATTERN,
  isTaskId,
} from "../contract/wire.ts";
import { AudioError } from "../errors.ts";
import type { Log } from "../log.ts";
import { type ContentResponse, parseContent, unsatisfiedRangeError } from "./content.ts";
import { readJson, UnreadableBodyError } from "./json-body.ts";
import { type ObservedTask, parseTask } from "./parse-task.ts";
import { type Operation, toServiceError } from "./service-error.ts";
import { createKeyGuard, type KeyGuard } from "./service-text.ts";
import {
  createTransport,
  type HttpResponse,
  REQUEST_TIMEOUTS,
  type RequestTimeouts,
  type Transport,
} from "./transport.ts";

/**
 * The service. Failures of service or network are {@link AudioError}s (`network_error`, `timeout`,
 * `unexpected_response` or one of the service's own codes). An abort rejects with the signal's reason. Faults of this
 * program are thrown unchanged.
 */
export interface ServiceClient {
  /**
   * Creates or replays a task. Accepts a 200 or 201 like a 202, because the task id in such an answer must not be lost.
   *
   * @param body canonical AudioInput, sent unchanged
   */
  submit(body: string, idempotencyKey: string, signal: AbortSignal): Promise<ObservedTask>;
  query(taskId: string, signal: AbortSignal): Promise<ObservedTask>;
  /**
   * Opens the audio at a byte offset. Sends a Range only for an offset above 0. Rejects with `unexpected_response`,
   * whose cause is a `StaleBytesError`, if the service answers 416 or sends another range than the requested one.
   */
  openContent(taskId: string, fromByte: number, signal: AbortSignal): Promise<ContentResponse>;
  /** Aborts all requests under way and closes the sockets. */
  close(): Promise<void>;
}

export interface ServiceOptions {
  /** The proxy for all requests; absent or `null` for none. */
  readonly proxy?: ProxySetting | null;
  /** The clock for dates in `Retry-After` of an answer without a `Date`. */
  readonly clock?: Pick<Clock, "wallMs">;
  readonly timeouts?: Partial<RequestTimeouts>;
  /** Gets a line for each request, at the level debug. */
  readonly log?: Pick<Log, "debug">;
}

/** Statuses of an accepted submission. The contract allows only 202. */
const ACCEPTED_STATUSES: ReadonlySet<number> = new Set([200, 201, 202]);

/**
 * Creates the client for one service address. Before the first request, the client loads no HTTP library, resolves no
 * host and opens no connection.
 */
export function createServiceClient(serviceAccess: ServiceAccess, options: ServiceOptions): ServiceClient {
  const timeouts = { ...REQUEST_TIMEOUTS, ...options.timeouts };
  return new HttpService(
    serviceAccess,
    createTransport(serviceAccess, options.proxy ?? null, timeouts, options.log),
    options.clock ?? systemClock,
    timeouts,
    options.proxy == null ? "" : ` It may come from the ${nameProxy(options.proxy)} on the way.`,
  );
}

class HttpService implements ServiceClient {
  readonly #transport: Transport;
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #timeouts: RequestTimeouts;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #guard: KeyGuard;
  /** Follows the description of an answer that is not the contract's. */
  readonly #doubt: string;

  constructor(
    serviceAccess: ServiceAccess,
    transport: Transport,
    clock: Pick<Clock, "wallMs">,
    timeouts: RequestTimeouts,
    doubt: string,
  ) {
    this.#doubt = doubt;
    this.#transport = transport;
    this.#clock = clock;
    this.#timeouts = timeouts;
    this.#guard = createKeyGuard(serviceAccess.apiKey);
    this.#headers = {
      authorization: `Bearer ${serviceAccess.apiKey}`,
      accept: "application/json",
      "accept-encoding": "identity",
      "user-agent": "audio-generation-mcp",
    };
  }

  async submit(body: string, idempotencyKey: string, signal: AbortSignal): Promise<ObservedTask> {
    if (!IDEMPOTENCY_KEY_PATTERN.test(idempotencyKey)) {
      throw new AudioError("invalid_request", "The idempotency key does not have the contract's form.");
    }
    if (Buffer.byteLength(body) > MAX_REQUEST_BODY_BYTES) {
      const max = `${MAX_REQUEST_BODY_BYTES / 1024} KiB`;
      throw new AudioError("request_too_large", `The request is longer than the service's ${max}.`);
    }
    const request = {
      method: "POST",
      path: GENERATIONS_PATH,
      headers: {
        ...this.#headers,
        "content-type": "application/json",
        [IDEMPOTENCY_KEY_HEADER]: idempotencyKey,
      },
      body,
      timeoutMs: this.#timeouts.submitMs,
      signal,
    } as const;
    return await this.#transport.exchange(request, async (response) => {
      if (!ACCEPTED_STATUSES.has(response.status))
        throw await this.#readServiceError(response, signal, "create");
      const task = await this.#readTask(response);
      if (response.status === 202) return task;
      return { ...task, deviations: [...task.deviations, `HTTP ${response.status} in place of 202`] };
    });
  }

  async query(taskId: string, signal: AbortSignal): Promise<ObservedTask> {
    const request = {
      method: "GET",
      path: this.#buildTaskPath(taskId),
      headers: this.#headers,
      timeoutMs: this.#timeouts.queryMs,
      signal,
    } as const;
    return await this.#transport.exchange(request, async (response) => {
      if (response.status !== 200) throw await this.#readServiceError(response, signal, "query", taskId);
      const task = await this.#readTask(response, taskId);
      if (task.taskId === taskId) return task;
      throw unexpectedResponseError(response, "The service answered the query with another task.", taskId);
    });
  }

  async openContent(taskId: string, fromByte: number, signal: AbortSignal): Promise<ContentResponse> {
    const request = {
      method: "GET",
      path: `${this.#buildTaskPath(taskId)}/content`,
      headers: {
        ...this.#headers,
        accept: "*/*",
        ...(fromByte > 0 ? { range: `bytes=${fromByte}-` } : {}),
      },
      timeoutMs: this.#timeouts.contentHeadersMs,
      signal,
    } as const;
    return await this.#transport.exchange(request, async (response) => {
      if (response.status === 200 || response.status === 206) return parseContent(response, fromByte);
      if (response.status === 416) throw unsatisfiedRangeError(response, taskId);
      throw await this.#readServiceError(response, signal, "content", taskId);
    });
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /**
   * Returns the path of a task. Checks that the id has the form of a task id and does not contain the API key, because
   * the id becomes part of the URL.
   *
   * @throws AudioError `invalid_request`
   */
  #buildTaskPath(taskId: string): string {
    if (isTaskId(taskId) && !this.#guard.containsKey(taskId)) return buildTaskPath(taskId);
    throw new AudioError("invalid_request", "The task id does not have the form of an id.");
  }

  async #readTask(response: HttpResponse, taskId?: string): Promise<ObservedTask> {
    let body: unknown;
    try {
      body = await readJson(response);
    } catch (error) {
      if (!(error instanceof UnreadableBodyError)) throw error;
      throw unexpectedResponseError(
        response,
        `The service's answer ${error.message}.${this.#doubt}`,
        taskId,
        error,
      );
    }
    const task = parseTask(body, this.#guard);
    if (task === null)
      throw unexpectedResponseError(response, "The service's answer is not a task with an id.", taskId);
    // Refuse an id that contains the API key, because the key would get into URLs, results and the ledger.
    if (this.#guard.containsKey(task.taskId)) {
      throw unexpectedResponseError(response, "The service's answer names a task by the API key.", taskId);
    }
    return task;
  }

  /** Reads the body of an unsuccessful answer, and creates the error that the caller gets. */
  async #readServiceError(
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
      else if (!(error instanceof UnreadableBodyError)) throw error;
    }
    const serviceError = toServiceError({
      status: response.status,
      operation,
      body,
      retryAfter: response.header("retry-after"),
      sentAt: response.header("date"),
      nowWallMs: this.#clock.wallMs(),
      taskId: taskId ?? this.#findUnexpectedTaskId(response, body),
      doubt: this.#doubt,
      sanitizeReason: this.#guard.sanitizeAndRedactReason,
    });
    // If the connection broke and the status does not explain the failure, report the broken connection.
    return broken !== undefined && serviceError.code === "unexpected_response" ? broken : serviceError;
  }

  /** Returns the task id in an answer with an unexpected 2xx status. A task id must never be lost. */
  #findUnexpectedTaskId({ status }: HttpResponse, body: unknown): string | undefined {
    if (status < 200 || status >= 300) return undefined;
    const id = parseTask(body, this.#guard)?.taskId;
    return id === undefined || this.#guard.containsKey(id) ? undefined : id;
  }
}

function unexpectedResponseError(
  response: HttpResponse,
  what: string,
  taskId?: string,
  cause?: unknown,
): AudioError {
  return new AudioError("unexpected_response", what, {
    httpStatus: response.status,
    retryable: true,
    taskId,
    cause,
  });
}
