/** Ways for a service to break off, damage or delay an answer. The caller decides when. */
import type { ServerResponse } from "node:http";
import { connect, createServer, type Server, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import type { Exchange, ExchangeKind, FakeService, FakeTask, Interceptor } from "../support/fake-service.ts";
import { freePort } from "../support/free-port.ts";

/** Sends exactly these bytes, and then closes the connection normally or, if `isReset`, by a reset. */
export function sayAndHangUp(response: ServerResponse, bytes: string, isReset = false): void {
  const { socket } = response;
  if (socket === null) return;
  const hangUp = (): void => {
    if (isReset) socket.resetAndDestroy();
    else socket.end();
  };
  if (bytes === "") hangUp();
  else socket.write(bytes, "latin1", hangUp);
}

/** Returns a whole HTTP answer. Its `content-length` is `lengthBytes` if given, which may be wrong. */
export function rawAnswer(
  status: string,
  body: string,
  headers: readonly string[],
  lengthBytes?: number,
): string {
  const length = lengthBytes ?? Buffer.byteLength(body);
  const head = [
    `HTTP/1.1 ${status}`,
    "content-type: application/json",
    `content-length: ${length}`,
    ...headers,
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

export function answerGzip(response: ServerResponse, status: number, body: unknown): void {
  const bytes = gzipSync(JSON.stringify(body));
  response.writeHead(status, { "content-type": "application/json", "content-encoding": "gzip" });
  response.end(bytes);
}

export function answerText(
  response: ServerResponse,
  status: number,
  text: string | Buffer,
  headers: Record<string, string> = {},
): true {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(text);
  return true;
}

/** Accepts a submission, so that only its answer can fail, and returns its task. */
export function acceptSubmission(service: FakeService, exchange: Exchange): FakeTask {
  const task = service.accept(exchange);
  if (task === "conflict") throw new Error("the same key came with another body");
  return task;
}

export type Misbehaviour = (response: ServerResponse, exchange: Exchange, service: FakeService) => unknown;

/** Refuses as the contract says: with a status, a code, a message and, after a 429, a pause in seconds. */
export function refusing(
  status: number,
  code: string,
  message?: string,
  retryAfterSeconds?: number,
): Misbehaviour {
  return (response, _exchange, service) => service.refuse(response, status, code, message, retryAfterSeconds);
}

/** Misbehaves at the next exchanges of a kind, and answers all others normally. */
export function misbehaveNext(kind: ExchangeKind, misbehave: Misbehaviour, count = 1): Interceptor {
  let remaining = count;
  return (exchange, response, service) => {
    if (exchange.kind !== kind || remaining <= 0) return false;
    remaining -= 1;
    misbehave(response, exchange, service);
    return true;
  };
}

/** Chooses a port on which nobody listens until `open` is called. From then on, the port leads to the service. */
export async function latePort(
  target: string,
): Promise<{ url: string; open(): Promise<void>; close(): Promise<void> }> {
  const port = await freePort();
  const { hostname, port: targetPort } = new URL(target);
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    const onward = connect(Number(targetPort), hostname);
    for (const end of [socket, onward]) {
      sockets.add(end);
      end.on("error", () => undefined).on("close", () => sockets.delete(end));
    }
    socket.pipe(onward).pipe(socket);
  });
  return {
    url: `http://127.0.0.1:${port}`,
    open: () => new Promise((resolve) => server.listen(port, "127.0.0.1", resolve)),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}
