/** Sends requests to the service. Limits their time, aborts them, and marks requests that were never written. */
import type { Dispatcher } from "undici";
import { systemClock } from "../clock.ts";
import type { ProxySetting } from "../config/proxy.ts";
import { runWithTimeout } from "../deadline.ts";
import { AudioError } from "../errors.ts";
import { describeCause, type Log } from "../log.ts";
import { interceptFirstWrite, KEEP_ALIVE_MAX_MS, openAgent } from "./http-agent.ts";
import { networkError, UnsentRequestError } from "./network-error.ts";

/**
 * The time limits of a request's phases in milliseconds. `AUDIO_TIME_SCALE` scales the limits of the service, but not
 * these.
 */
export interface RequestTimeouts {
  /** Limit for connecting, including TLS and proxy. */
  readonly connectMs: number;
  /** Limit for a whole submission, from the call to the parsed answer. */
  readonly submitMs: number;
  /** Limit for a whole query. */
  readonly queryMs: number;
  /** Limit for a content request, until the headers of the response arrive. */
  readonly contentHeadersMs: number;
  /**
   * Limit for each wait for the next bytes of a body. A very slow body can stay within this limit, so a download
   * requires a minimum speed as well.
   */
  readonly idleBodyMs: number;
}

export const REQUEST_TIMEOUTS: RequestTimeouts = {
  connectMs: 10_000,
  submitMs: 60_000,
  queryMs: 30_000,
  contentHeadersMs: 30_000,
  idleBodyMs: 30_000,
};

export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** Path below the base address, beginning with a slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * Time limit for the whole request, including the time that the callback `read` of `exchange` takes.
   */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  /**
   * Returns the value of a header. If the header is repeated, returns its values joined by commas. Returns `undefined`
   * only if the header is missing.
   */
  header(name: string): string | undefined;
  /** The body, which can be read once. Reading fails with {@link AudioError} or the reason of the caller's signal. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Closes the connection unless the body was read to its end. */
  discard(): void;
}

const stoppingError = (): AudioError =>
  new AudioError("network_error", "The program is stopping.", {
    cause: new UnsentRequestError("the program was stopping"),
  });

/** Creates a transport to one service. Each exchange sends one request, without redirects or retries. */
export function createTransport(
  baseUrl: string,
  proxy: ProxySetting | null,
  timeouts: RequestTimeouts,
  log?: Pick<Log, "debug">,
) {
  const base = new URL(baseUrl);
  const prefix = base.pathname.replace(/\/+$/, "");
  let agent: Promise<Dispatcher> | undefined;
  const retired = new Set<Promise<Dispatcher>>();
  let usedAtWallMs = 0;
  let isClosed = false;

  /** Opens an agent, and another one after a pause: timers stand still while the machine sleeps, connections die. */
  function useAgent(): Promise<Dispatcher> {
    const nowWallMs = systemClock.wallMs();
    const hasSlept = Math.abs(nowWallMs - usedAtWallMs) > KEEP_ALIVE_MAX_MS;
    usedAtWallMs = nowWallMs;
    if (agent !== undefined && !hasSlept) return agent;
    if (agent !== undefined) retire(agent);
    return openAgent(proxy?.url ?? null, timeouts.connectMs);
  }

  /** Closes an agent as soon as the requests that are under way have ended. */
  function retire(earlier: Promise<Dispatcher>): void {
    retired.add(earlier);
    void earlier
      .then((open) => open.close())
      .catch(() => undefined)
      .finally(() => retired.delete(earlier));
  }

  /**
   * Sends a request and passes its answer to `read`. The request's time limit applies until `read` has ended. If
   * `read` leaves the body unread, the caller may read the body afterwards. Then only each wait for the next bytes is
   * limited.
   *
   * @throws AudioError `network_error`, `timeout` or `unexpected_response`; the signal's reason when it aborts; what
   *   `read` throws
   */
  async function exchange<T>(request: HttpRequest, read: (response: HttpResponse) => Promise<T>): Promise<T> {
    let isSent = false;
    const timeoutError = (): unknown =>
      networkError(systemTimeoutError("deadline passed"), base.host, isSent, proxy);
    const { timeoutMs, signal: callerSignal } = request;
    const timeoutOptions = { clock: systemClock, timeoutMs, signal: callerSignal, timeoutError };
    return await runWithTimeout(timeoutOptions, async (signal) => {
      const toRequestError = (error: unknown): unknown =>
        signal.aborted ? signal.reason : networkError(error, base.host, isSent, proxy);
      if (isClosed) throw stoppingError();
      agent = useAgent();
      const client = (await agent).compose(
        interceptFirstWrite(() => {
          isSent = true;
        }),
      );
      signal.throwIfAborted();
      const { method, path, headers, body = null } = request;
      let response: Dispatcher.ResponseData;
      const beganMs = systemClock.wallMs();
      const logEnd = (end: string): void =>
        log?.debug(`${method} ${path} ${end} after ${systemClock.wallMs() - beganMs} ms`);
      try {
        response = await client.request({
          origin: base.origin,
          path: `${prefix}${path}`,
          method,
          headers,
          body,
          signal,
        });
      } catch (error) {
        logEnd(`failed (${describeCause(error)})`);
        throw toRequestError(error);
      }
      logEnd(`was answered ${response.statusCode}`);
      return await read(toHttpResponse(response, timeouts.idleBodyMs, toRequestError));
    });
  }

  return {
    exchange,
    /** Aborts all requests under way. */
    async close(): Promise<void> {
      isClosed = true;
      const agents = agent === undefined ? [...retired] : [agent, ...retired];
      await Promise.all(agents.map(async (each) => await (await each.catch(() => null))?.destroy()));
    },
  };
}

const systemTimeoutError = (message: string): Error =>
  Object.assign(new Error(message), { code: "ETIMEDOUT" });

function toHttpResponse(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  idleMs: number,
  failure: (error: unknown) => unknown,
): HttpResponse {
  // Listen for errors. A body that is dropped early emits an error, which would end the process if nobody listened.
  body.on("error", () => undefined);

  /** Limits the time spent waiting for one chunk. The limit does not apply while the reader pauses. */
  const watchSilence = (): NodeJS.Timeout =>
    setTimeout(() => body.destroy(systemTimeoutError("nothing came for too long")), idleMs);

  async function* chunks(): AsyncGenerator<Uint8Array, void, void> {
    let silence = watchSilence();
    try {
      for await (const chunk of body) {
        clearTimeout(silence);
        yield chunk;
        silence = watchSilence();
      }
    } catch (error) {
      throw failure(error);
    } finally {
      clearTimeout(silence);
    }
  }
  return {
    status: statusCode,
    header(name) {
      const value = headers[name];
      return typeof value === "object" ? value.join(", ") : value;
    },
    body: chunks(),
    discard: () => void body.destroy(),
  };
}
