/** Sends requests to the service's origin: their deadlines, their aborts, and whether they were ever written. */
import type { Dispatcher } from "undici";
import { systemClock } from "../clock.ts";
import type { ProxySettings, ServiceAddress } from "../config/config.ts";
import { withDeadline } from "../deadline.ts";
import { AudioError } from "../errors.ts";
import { UnsentRequest } from "./causes.ts";
import { beforeWriting, openAgent } from "./http-agent.ts";
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
  let agent: Promise<Dispatcher> | undefined;
  let isClosed = false;

  async function exchange<T>(request: HttpRequest, read: (response: HttpResponse) => Promise<T>): Promise<T> {
    let isSent = false;
    const late = (): unknown => networkFailure(timeout("deadline passed"), base.host, isSent);
    const limit = { clock: systemClock, ms: request.deadlineMs, signal: request.signal, late };
    return await withDeadline(limit, async (signal) => {
      const failure = (error: unknown): unknown =>
        signal.aborted ? signal.reason : networkFailure(error, base.host, isSent);
      if (isClosed) throw stopping();
      agent ??= openAgent(proxy, deadlines.connectMs);
      const client = (await agent).compose(
        beforeWriting(() => {
          isSent = true;
        }),
      );
      signal.throwIfAborted();
      const { method, path, headers, body = null } = request;
      let response: Dispatcher.ResponseData;
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
        throw failure(error);
      }
      return await read(asHttpResponse(response, deadlines.idleBodyMs, failure));
    });
  }

  return {
    exchange,
    async close() {
      isClosed = true;
      const open = await agent?.catch(() => undefined);
      await open?.destroy();
    },
  };
}

const timeout = (message: string): Error => Object.assign(new Error(message), { code: "ETIMEDOUT" });

function asHttpResponse(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  idleMs: number,
  failure: (error: unknown) => unknown,
): HttpResponse {
  // Dropping a body before its end emits an error, which would end the process if nothing listened.
  body.on("error", () => undefined);

  /** Only the time in which a chunk is waited for counts as silence: a reader may pause for as long as it likes. */
  const watchSilence = (): NodeJS.Timeout =>
    setTimeout(() => body.destroy(timeout("nothing came for too long")), idleMs);

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
