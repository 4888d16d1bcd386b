/** The usual client: Node's own HTTP, over connections that are opened and checked by us. */
import { createConnector } from "./connector.ts";
import { readBody } from "./direct-body.ts";
import { type Engine, type EngineAnswer, type EngineRequest, MAX_HEADER_BYTES } from "./engine.ts";
import type { Deadlines } from "./transport.ts";

/** A connection that nobody has used for so long is closed: services close theirs after five seconds and more. */
const IDLE_CONNECTION_MS = 4000;

/** Not by `import`, which also loads the fetch and the WebSocket that Node hands out with it: 20 ms and 10 MiB. */
const http = process.getBuiltinModule("node:http");

export function startDirectEngine(base: URL, deadlines: Deadlines): Engine {
  const connector = createConnector(base, deadlines.connectMs);
  const agent = new http.Agent({ keepAlive: true, timeout: IDLE_CONNECTION_MS });
  agent.createConnection = (_options, done) => {
    connector.open((error, socket) => done?.(error, socket));
    return undefined;
  };

  function send({ method, path, headers, body, signal, onSending }: EngineRequest): Promise<EngineAnswer> {
    return new Promise((resolve, reject) => {
      const request = http.request({
        agent,
        method,
        path,
        headers: { ...headers, host: base.host },
        maxHeaderSize: MAX_HEADER_BYTES,
        // Said outright, so that no option of the process can unsay it.
        insecureHTTPParser: false,
        signal,
      });
      // It is open by then, and its certificate is good.
      request.once("socket", onSending);
      request.on("error", reject);
      request.once("response", (response) =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headersDistinct,
          body: readBody(request, response, deadlines.idleBodyMs),
          drop: () => void response.destroy(),
        }),
      );
      // An answer that switches protocols, and whatever else ends a request without an answer and without an error.
      request.once("close", () =>
        reject(Object.assign(new Error("closed without an answer"), { code: "ECONNRESET" })),
      );
      request.end(body ?? undefined);
    });
  }

  return {
    send,
    async destroy() {
      connector.close();
      agent.destroy();
    },
  };
}
