/** Owns one request at a time on the wire: deadlines, aborts, what was sent; knows neither tasks nor error codes of the service. */
import type { Dispatcher } from "undici";
import type { ProxySettings, ServiceAddress } from "../config.ts";
import { AudioError } from "../errors.ts";
import type { Deadlines } from "./deadlines.ts";
import { type Engine, startEngine } from "./engine.ts";
import { networkFailure } from "./network-failure.ts";

export interface HttpRequest {
  readonly method: "GET" | "HEAD" | "POST";
  /** Path below the base address, beginning with a slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For everything up to {@link HttpResponse.releaseDeadline}, or to the end of the body. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  /** A header that came once; `undefined` when absent or sent several times. */
  header(name: string): string | undefined;
  /** The body, once. Failures are {@link AudioError}s, or the reason of the caller's signal. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Ends the deadline of the request; from here on only silence is bounded (`idleBodyMs`). */
  releaseDeadline(): void;
  /** Drops the connection, unless the body has been read to its end. */
  discard(): void;
}

export interface Transport {
  send(request: HttpRequest): Promise<HttpResponse>;
  /** Breaks off everything under way. */
  close(): Promise<void>;
}

/** Aborts on the caller's signal (with its reason) or on the deadline (with a `timeout`), whichever comes first. */
class Stop {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #onCallerAbort = (): void => this.#controller.abort(this.#caller.reason);
  readonly aborted: Promise<never>;

  constructor(caller: AbortSignal, deadlineMs: number, timeout: () => AudioError) {
    this.#caller = caller;
    this.#timer = setTimeout(() => this.#controller.abort(timeout()), deadlineMs);
    this.aborted = new Promise((_, reject) => {
      this.signal.addEventListener("abort", () => reject(this.signal.reason), { once: true });
    });
    this.aborted.catch(() => {});
    caller.addEventListener("abort", this.#onCallerAbort, { once: true });
    if (caller.aborted) this.#onCallerAbort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  releaseDeadline(): void {
    clearTimeout(this.#timer);
  }

  release(): void {
    this.releaseDeadline();
    this.#caller.removeEventListener("abort", this.#onCallerAbort);
  }
}

/**
 * A transport to one origin. Redirects are not followed and nothing is repeated: one call, one request.
 *
 * @throws AudioError `network_error`, `timeout` or `unexpected_response`; the signal's reason when it aborts
 */
export function createTransport(
  address: ServiceAddress,
  proxy: ProxySettings,
  deadlines: Deadlines,
): Transport {
  const base = new URL(address.baseUrl);
  const prefix = base.pathname.replace(/\/+$/, "");
  let engine: Promise<Engine> | undefined;
  let isClosed = false;

  async function send(request: HttpRequest): Promise<HttpResponse> {
    request.signal.throwIfAborted();
    let isSent = false;
    const stop = new Stop(request.signal, request.deadlineMs, () =>
      networkFailure(Object.assign(new Error("deadline passed"), { code: "ETIMEDOUT" }), base.host, isSent),
    );
    const failure = (error: unknown): unknown =>
      stop.signal.aborted ? stop.signal.reason : networkFailure(error, base.host, isSent);
    try {
      if (isClosed) throw new AudioError("network_error", "The program is stopping.");
      engine ??= startEngine(base.protocol === "https:", proxy, deadlines);
      const { agent, request: start } = await Promise.race([engine, stop.aborted]);
      const dispatch: Dispatcher["dispatch"] = (options, handler) => {
        const onRequestStart = handler.onRequestStart;
        // Called just before the first byte is written: until then the service cannot have seen anything.
        handler.onRequestStart = (controller, context) => {
          isSent = true;
          onRequestStart?.call(handler, controller, context);
        };
        return agent.dispatch(options, handler);
      };
      const pending = start.call(
        { dispatch },
        {
          origin: base.origin,
          path: `${prefix}${request.path}`,
          method: request.method,
          headers: request.headers,
          body: request.body ?? null,
          signal: stop.signal,
        },
      );
      // undici hears an abort only once it has a connection; whatever comes after it is dropped.
      pending.then(
        (late) => late.body.on("error", () => {}) && stop.signal.aborted && late.body.destroy(),
        () => {},
      );
      return respond(await Promise.race([pending, stop.aborted]), stop, failure);
    } catch (error) {
      stop.release();
      throw failure(error);
    }
  }

  return {
    send,
    async close() {
      isClosed = true;
      const running = await engine?.catch(() => undefined);
      await running?.agent.destroy();
    },
  };
}

function respond(
  response: Dispatcher.ResponseData,
  stop: Stop,
  failure: (error: unknown) => unknown,
): HttpResponse {
  async function* read(): AsyncGenerator<Uint8Array, void, void> {
    try {
      for await (const chunk of response.body) yield chunk;
    } catch (error) {
      throw failure(error);
    } finally {
      stop.release();
    }
  }
  return {
    status: response.statusCode,
    header(name) {
      const value = response.headers[name];
      return typeof value === "string" ? value : undefined;
    },
    body: read(),
    releaseDeadline: () => stop.releaseDeadline(),
    discard() {
      stop.release();
      response.body.destroy();
    },
  };
}
