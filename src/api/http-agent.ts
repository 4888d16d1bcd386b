/**
 * Opens the HTTP client: undici with the settings that every request shares. Undici is loaded on first use, because
 * most server processes never send a request.
 */
import type { Dispatcher } from "undici";

/** Maximum size of a response's headers. */
const MAX_HEADER_BYTES = 32 * 1024;

/**
 * Opens an agent without connecting.
 *
 * @param proxyUrl the proxy for all requests; `null` for none
 */
export async function openAgent(proxyUrl: string | null, connectMs: number): Promise<Dispatcher> {
  const { Agent, ProxyAgent } = await import("undici");
  // Set `rejectUnauthorized` explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED cannot override it.
  const tls = { rejectUnauthorized: true, allowH2: false, timeout: connectMs };
  const options = {
    allowH2: false,
    connectTimeout: connectMs,
    connect: tls,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Turn off undici's time limits. The transport has limits of its own, because undici's `bodyTimeout` also runs
    // while the reader pauses.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  if (proxyUrl === null) return new Agent(options);
  return new ProxyAgent({ ...options, uri: proxyUrl, requestTls: tls, proxyTls: tls });
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
