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
import { type ObservedTask, parseTask } from "./parse-task.ts";
import { type Operation, toServiceError, unexpectedResponseError } from "./service-error.ts";
import { createKeyGuard } from "./service-text.ts";
import {
  createTransport,
  type HttpRequest,
  type HttpResponse,
  REQUEST_TIMEOUTS,
  type RequestTimeouts,
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

/** Maximum size of a JSON body. */
const MAX_JSON_BODY_BYTES = 1024 * 1024;

/**
 * A body that is not acceptable JSON. The message is the end of a sentence that begins "The service's answer", such as
 * "is not JSON".
 */
class UnreadableBodyError extends Error {
  override readonly name = "UnreadableBodyError";
}

/**
 * Reads a JSON body of at most 1 MiB.
 *
 * @throws UnreadableBodyError if it is compressed, too long, not UTF-8 or not JSON; AudioError if the connection fails
 */
async function readJson(response: HttpResponse): Promise<unknown> {
  const encoding = response.header("content-encoding");
  if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") {
    response.discard();
    throw new UnreadableBodyError("is compressed, which was not asked for");
  }
  // Copy the chunks into one buffer. If each chunk were kept, a body of a million chunks of one byte would need about a
  // gigabyte of memory. The system gives the pages of the buffer only when they are written to.
  const bytes = Buffer.allocUnsafeSlow(MAX_JSON_BODY_BYTES);
  let sizeBytes = 0;
  for await (const chunk of response.body) {
    // A throw leaves the loop, and leaving the loop closes the connection.
    if (sizeBytes + chunk.byteLength > MAX_JSON_BODY_BYTES) {
      throw new UnreadableBodyError(`is longer than ${MAX_JSON_BODY_BYTES} bytes`);
    }
    bytes.set(chunk, sizeBytes);
    sizeBytes += chunk.byteLength;
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, sizeBytes)));
  } catch (cause) {
    throw new UnreadableBodyError("is not JSON", { cause });
  }
}

/**
 * Creates the client for one service address. Before the first request, the client loads no HTTP library, resolves no
 * host and opens no connection.
 */
export function createServiceClient(
  { baseUrl, apiKey }: ServiceAccess,
  { proxy = null, clock = systemClock, log, ...options }: ServiceOptions,
): ServiceClient {
  const timeouts = { ...REQUEST_TIMEOUTS, ...options.timeouts };
  const transport = createTransport(baseUrl, proxy, timeouts, log);
  const guard = createKeyGuard(apiKey);
  /** Follows the description of an answer that is not the contract's. */
  const doubt = proxy === null ? "" : ` It may come from the ${nameProxy(proxy)} on the way.`;

  /** Sends a request with the headers that every request has. */
  const exchange = <T>(
    request: Omit<HttpRequest, "headers"> & Partial<Pick<HttpRequest, "headers">>,
    read: (response: HttpResponse) => Promise<T>,
  ): Promise<T> => {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      accept: "application/json",
      "accept-encoding": "identity",
      "user-agent": "audio-generation-mcp",
      ...request.headers,
    };
    return transport.exchange({ ...request, headers }, read);
  };

  /**
   * Returns the path of a task. Checks that the id has the form of a task id and does not contain the API key, because
   * the id becomes part of the URL.
   *
   * @throws AudioError `invalid_request`
   */
  const pathOf = (taskId: string): string => {
    if (isTaskId(taskId) && !guard.containsKey(taskId)) return buildTaskPath(taskId);
    throw new AudioError("invalid_request", "The task id does not have the form of an id.");
  };

  const readTask = async (response: HttpResponse, taskId?: string): Promise<ObservedTask> => {
    let body: unknown;
    try {
      body = await readJson(response);
    } catch (cause) {
      if (!(cause instanceof UnreadableBodyError)) throw cause;
      const words = `The service's answer ${cause.message}.${doubt}`;
      throw unexpectedResponseError(response, words, { taskId, cause });
    }
    const task = parseTask(body, guard);
    if (task === null)
      throw unexpectedResponseError(response, "The service's answer is not a task with an id.", { taskId });
    // Refuse an id that contains the API key, because the key would get into URLs, results and the ledger.
    if (guard.containsKey(task.taskId)) {
      throw unexpectedResponseError(response, "The service's answer names a task by the API key.", {
        taskId,
      });
    }
    return task;
  };

  /** Returns the task id in an answer with an unexpected 2xx status. A task id must never be lost. */
  const findUnexpectedTaskId = ({ status }: HttpResponse, body: unknown): string | undefined => {
    if (status < 200 || status >= 300) return undefined;
    const id = parseTask(body, guard)?.taskId;
    return id === undefined || guard.containsKey(id) ? undefined : id;
  };

  /** Reads the body of an unsuccessful answer, and creates the error that the caller gets. */
  const readServiceError = async (
    response: HttpResponse,
    signal: AbortSignal,
    operation: Operation,
    taskId?: string,
  ): Promise<AudioError> => {
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
      nowWallMs: clock.wallMs(),
      taskId: taskId ?? findUnexpectedTaskId(response, body),
      doubt,
      sanitizeReason: guard.sanitizeAndRedactReason,
    });
    // If the connection broke and the status does not explain the failure, report the broken connection.
    return broken !== undefined && serviceError.code === "unexpected_response" ? broken : serviceError;
  };

  return {
    async submit(body, idempotencyKey, signal) {
      if (!IDEMPOTENCY_KEY_PATTERN.test(idempotencyKey)) {
        throw new AudioError("invalid_request", "The idempotency key does not have the contract's form.");
      }
      if (Buffer.byteLength(body) > MAX_REQUEST_BODY_BYTES) {
        const max = `${MAX_REQUEST_BODY_BYTES / 1024} KiB`;
        throw new AudioError("request_too_large", `The request is longer than the service's ${max}.`);
      }
      const headers = { "content-type": "application/json", [IDEMPOTENCY_KEY_HEADER]: idempotencyKey };
      const timeoutMs = timeouts.submitMs;
      const request = { method: "POST", path: GENERATIONS_PATH, headers, body, timeoutMs, signal } as const;
      return await exchange(request, async (response) => {
        if (!ACCEPTED_STATUSES.has(response.status)) throw await readServiceError(response, signal, "create");
        const task = await readTask(response);
        if (response.status === 202) return task;
        return { ...task, deviations: [...task.deviations, `HTTP ${response.status} in place of 202`] };
      });
    },
    async query(taskId, signal) {
      const request = { method: "GET", path: pathOf(taskId), timeoutMs: timeouts.queryMs, signal } as const;
      return await exchange(request, async (response) => {
        if (response.status !== 200) throw await readServiceError(response, signal, "query", taskId);
        const task = await readTask(response, taskId);
        if (task.taskId === taskId) return task;
        const words = "The service answered the query with another task.";
        throw unexpectedResponseError(response, words, { taskId });
      });
    },
    async openContent(taskId, fromByte, signal) {
      const range = fromByte > 0 ? { range: `bytes=${fromByte}-` } : {};
      const [path, headers] = [`${pathOf(taskId)}/content`, { accept: "*/*", ...range }];
      const request = { method: "GET", path, headers, timeoutMs: timeouts.contentHeadersMs, signal } as const;
      return await exchange(request, async (response) => {
        if (response.status === 200 || response.status === 206) return parseContent(response, fromByte);
        if (response.status === 416) throw unsatisfiedRangeError(response, taskId);
        throw await readServiceError(response, signal, "content", taskId);
      });
    },
    close: transport.close,
  };
}
