/** The client for companies' proxies: undici, whose CONNECT tunnels and NO_PROXY rules are not worth writing again. */
import type { Dispatcher } from "undici";
import connect from "undici/lib/api/api-connect.js";
import start from "undici/lib/api/api-request.js";
import ProxyAgent from "undici/lib/dispatcher/env-http-proxy-agent.js";
import Pool from "undici/lib/dispatcher/pool.js";
import { type Engine, MAX_HEADER_BYTES } from "./engine.ts";
import type { Deadlines } from "./transport.ts";

/** @param proxy `noProxy` names hosts that are spoken to directly */
export function startProxiedEngine(
  base: URL,
  proxy: { readonly httpsProxy: string; readonly noProxy: string | undefined },
  deadlines: Deadlines,
): Engine {
  // Said outright, so that NODE_TLS_REJECT_UNAUTHORIZED cannot unsay it.
  const strictTls = { rejectUnauthorized: true, allowH2: false, timeout: deadlines.connectMs };
  const agent = new ProxyAgent({
    allowH2: false,
    connectTimeout: deadlines.connectMs,
    connect: strictTls,
    // The transport has its own deadlines for whole requests.
    headersTimeout: 0,
    bodyTimeout: deadlines.idleBodyMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    requestTls: strictTls,
    proxyTls: strictTls,
    // The connections to the proxy need `connect`, which undici's index would have put onto them.
    clientFactory: (origin, poolOptions) => Object.assign(new Pool(origin, poolOptions), { connect }),
    // Empty strings, so that nothing is taken from the environment behind the configuration's back.
    httpProxy: "",
    httpsProxy: proxy.httpsProxy,
    noProxy: proxy.noProxy ?? "",
  });
  return {
    async send({ onSending, ...request }) {
      const dispatch: Dispatcher["dispatch"] = (options, handler) => {
        const onRequestStart = handler.onRequestStart;
        handler.onRequestStart = (controller, context) => {
          onSending();
          onRequestStart?.call(handler, controller, context);
        };
        return agent.dispatch(options, handler);
      };
      const { statusCode, headers, body } = await start.call(
        { dispatch },
        { origin: base.origin, ...request },
      );
      // A body that is dropped half read complains to nobody in particular, which would end the process.
      body.on("error", () => undefined);
      return { status: statusCode, headers, body, drop: () => void body.destroy() };
    },
    destroy: () => agent.destroy(),
  };
}
