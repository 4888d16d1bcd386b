/**
 * Opens the HTTP client: undici with the settings that every request shares. Undici is loaded on first use, because
 * most server processes never send a request.
 */
import type { Dispatcher } from "undici";
import type { ProxySettings } from "../config/connections.ts";

/** Maximum size of a response's headers. */
const MAX_HEADER_BYTES = 32 * 1024;

/**
 * Opens an agent without connecting. The agent sends https through the proxy. It sends plain http directly, because a
 * proxy could read the API key in plain http. Plain http is allowed on loopback only.
 */
export async function openAgent(
  { httpsProxy, noProxy }: ProxySettings,
  connectMs: number,
): Promise<Dispatcher> {
  const { EnvHttpProxyAgent } = await import("undici");
  // Set `rejectUnauthorized` explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED cannot override it.
  const tls = { rejectUnauthorized: true, allowH2: false, timeout: connectMs };
  return new EnvHttpProxyAgent({
    allowH2: false,
    connectTimeout: connectMs,
    connect: tls,
    requestTls: tls,
    proxyTls: tls,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Turn off undici's time limits. The transport has limits of its own, because undici's `bodyTimeout` also runs
    // while the reader pauses.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Pass an empty string for a missing setting. Without a value, undici would read the setting from the environment.
    httpProxy: "",
    httpsProxy: httpsProxy ?? "",
    noProxy: noProxy ?? "",
  });
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
