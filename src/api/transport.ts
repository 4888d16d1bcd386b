/** Sends one request at a time to the service's origin: its deadline, its abort, and whether it was ever written. */
import { systemClock } from "../clock.ts";
import type { ProxySettings, ServiceAddress } from "../config/config.ts";
import { withDeadline } from "../deadline.ts";
import { AudioError } from "../errors.ts";
import { UnsentRequest } from "./causes.ts";
import { type Engine, type EngineAnswer, startEngine } from "./engine.ts";
import { networkFailure } from "./network-failure.ts";

/**
 * How long each phase of a request may take, in milliseconds. None of them is scaled by `AUDIO_TIME_SCALE`, which
 * is about the service's limits.
 */
export interface Deadlines {
  /** For a connection, TLS and proxy included. */
  readonly connectMs: number;
  /** For a whole create, from call to parsed answer. */
  readonly createMs: number;
  /** For a whole query. */
  readonly queryMs: number;
  /** From asking for the content to its headers. */
  readonly contentHeadersMs: number;
  /** Without a byte of a body. How slowly audio may come is for the download to say. */
  readonly idleBodyMs: number;
}

export const DEADLINES: Deadlines = {
  connectMs: 10_000,
  createMs: 60_000,
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
  /** For everything, up to the end of `read`. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  /** A header; one that came several times is joined by commas, so that a doubled one is never taken for none. */
  header(name: string): string | undefined;
  /** The body, once. Failures are {@link AudioError}s, or the reason of the caller's signal. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Drops the connection, unless the body has been read to its end. */
  discard(): void;
}

export interface Transport {
  /**
   * Sends a request and hands its answer to `read`, all within the request's deadline. A body that `read` leaves
   * may still be read afterwards; then only silence is bounded.
   *
   * @throws AudioError `network_error`, `timeout` or `unexpected_response`; the signal's reason when it aborts;
   *   what `read` throws
   */
  exchange<T>(request: HttpRequest, read: (response: HttpResponse) => Promise<T>): Promise<T>;
  /** Breaks off everything under way. */
  close(): Promise<void>;
}

const stopping = (): AudioError =>
  new AudioError("network_error", "The program is stopping.", {
    cause: new UnsentRequest("the program was stopping"),
  });

/** A transport to one origin. Redirects are not followed and nothing is repeated: one call, one request. */
export function createTransport(
  address: ServiceAddress,
  proxy: ProxySettings,
  deadlines: Deadlines,
): Transport {
  const base = new URL(address.baseUrl);
  const prefix = base.pathname.replace(/\/+$/, "");
  let engine: Promise<Engine> | undefined;
  let isClosed = false;

  async function exchange<T>(request: HttpRequest, read: (response: HttpResponse) => Promise<T>): Promise<T> {
    let isSent = false;
    const late = (): unknown =>
      networkFailure(Object.assign(new Error("deadline passed"), { code: "ETIMEDOUT" }), base.host, isSent);
    const limit = { clock: systemClock, ms: request.deadlineMs, signal: request.signal, late };
    return await withDeadline(limit, async (signal) => {
      const failure = (error: unknown): unknown =>
        signal.aborted ? signal.reason : networkFailure(error, base.host, isSent);
      if (isClosed) throw stopping();
      engine ??= startEngine(base, proxy, deadlines);
      const running = await engine;
      signal.throwIfAborted();
      let answer: EngineAnswer;
      try {
        answer = await running.send({
          method: request.method,
          path: `${prefix}${request.path}`,
          headers: request.headers,
          body: request.body ?? null,
          signal,
          onSending: () => {
            isSent = true;
          },
        });
      } catch (error) {
        throw failure(error);
      }
      // An abort may be heard only once there is a connection; what comes after it is dropped.
      if (signal.aborted) answer.drop();
      signal.throwIfAborted();
      return await read(asHttpResponse(answer, failure));
    });
  }

  return {
    exchange,
    async close() {
      isClosed = true;
      const running = await engine?.catch(() => undefined);
      await running?.destroy();
    },
  };
}

function asHttpResponse(answer: EngineAnswer, failure: (error: unknown) => unknown): HttpResponse {
  async function* body(): AsyncGenerator<Uint8Array, void, void> {
    try {
      for await (const chunk of answer.body) yield chunk;
    } catch (error) {
      throw failure(error);
    }
  }
  return {
    status: answer.status,
    header(name) {
      const value = answer.headers[name];
      return typeof value === "object" ? value.join(", ") : value;
    },
    body: body(),
    discard: () => answer.drop(),
  };
}
