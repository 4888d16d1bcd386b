/** Loads undici and sets it up: TLS, proxy, one agent. */
import type { Agent, Dispatcher } from "undici";
import type { ProxySettings } from "../config/config.ts";
import type { Deadlines } from "./transport.ts";

/** An agent, and undici's `request` to call on it. */
export interface Engine {
  readonly agent: Dispatcher;
  readonly request: typeof import("undici/lib/api/api-request.js").default;
}

/**
 * Loads undici, part by part and on first use: most server processes never send a request, and its index takes
 * three times as long (fetch, WebSocket, mocks). Proxies are for https only, because plain http is allowed on
 * loopback alone and a proxy would see the key.
 */
export async function startEngine(
  isHttps: boolean,
  proxy: ProxySettings,
  deadlines: Deadlines,
): Promise<Engine> {
  const { default: request } = await import("undici/lib/api/api-request.js");
  // Said outright, so that NODE_TLS_REJECT_UNAUTHORIZED cannot unsay it.
  const strictTls = { rejectUnauthorized: true, allowH2: false, timeout: deadlines.connectMs };
  const options: Agent.Options = {
    allowH2: false,
    connectTimeout: deadlines.connectMs,
    connect: strictTls,
    // The transport has its own deadlines for whole requests.
    headersTimeout: 0,
    bodyTimeout: deadlines.idleBodyMs,
    maxHeaderSize: 32 * 1024,
  };
  if (!isHttps || proxy.httpsProxy === undefined) {
    const { default: DirectAgent } = await import("undici/lib/dispatcher/agent.js");
    return { agent: new DirectAgent(options), request };
  }
  const { default: ProxyAgent } = await import("undici/lib/dispatcher/env-http-proxy-agent.js");
  const { default: Pool } = await import("undici/lib/dispatcher/pool.js");
  const { default: connect } = await import("undici/lib/api/api-connect.js");
  const agent = new ProxyAgent({
    ...options,
    requestTls: strictTls,
    proxyTls: strictTls,
    // The connections to the proxy need `connect`, which undici's index would have put onto them.
    clientFactory: (origin, poolOptions) => Object.assign(new Pool(origin, poolOptions), { connect }),
    // Empty strings, so that nothing is taken from the environment behind the configuration's back.
    httpProxy: "",
    httpsProxy: proxy.httpsProxy,
    noProxy: proxy.noProxy ?? "",
  });
  return { agent, request };
}
