/**
 * Opens the HTTP client: undici with the settings that every request shares. Undici is loaded on first use, because
 * most server processes never send a request.
 */
import type { buildConnector, Dispatcher } from "undici";
import { ignoreInterimAnswers } from "./interim-answers.ts";

/** Maximum size of a response's headers. */
const MAX_HEADER_BYTES = 32 * 1024;

/**
 * The longest time for which an idle connection is kept, whatever the service announces. A connection that died while
 * the machine slept would cost the next request its whole time limit.
 */
export const KEEP_ALIVE_MAX_MS = 10_000;

interface PoolOptions {
  readonly connect?: buildConnector.connector | buildConnector.BuildOptions;
  readonly headersTimeout?: number;
}

/**
 * Opens an agent without connecting.
 *
 * @param proxyUrl the proxy for all requests; `null` for none
 */
export async function openAgent(proxyUrl: string | null, connectMs: number): Promise<Dispatcher> {
  const { Agent, buildConnector, Pool, ProxyAgent } = await import("undici");
  // Set `rejectUnauthorized` explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED cannot override it.
  const tls = { rejectUnauthorized: true, allowH2: false, timeout: connectMs };
  const options = {
    allowH2: false,
    connectTimeout: connectMs,
    connect: tls,
    keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Turn off undici's time limits. The transport has limits of its own, because undici's `bodyTimeout` also runs
    // while the reader pauses.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const createPool = (origin: URL | string, { connect, ...rest }: PoolOptions): Dispatcher => {
    const connector = typeof connect === "function" ? connect : buildConnector(connect ?? {});
    return new Pool(origin, { ...rest, connect: ignoreInterimAnswers(connector) });
  };
  const factory = (origin: URL | string, given: object): Dispatcher => createPool(origin, given);
  if (proxyUrl === null) return new Agent({ ...options, factory });
  // The limit for connecting includes the proxy's answer.
  const clientFactory = (origin: URL | string, given: object): Dispatcher =>
    createPool(origin, { ...given, headersTimeout: connectMs });
  const proxy = { uri: proxyUrl, requestTls: tls, proxyTls: tls, clientFactory };
  return new ProxyAgent({ ...options, ...proxy, factory });
}

/**
 * Returns an interceptor that calls `report` just before the first byte of a request is written. Before this call, the
 * service cannot have seen the request.
 */
export function interceptFirstWrite(report: () => void): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const start = handler.onRequestStart;
    handler.onRequestStart = (controller, context) => {
      report();
      start?.call(handler, controller, context);
    };
    return dispatch(options, handler);
  };
}
