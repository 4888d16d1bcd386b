/** Helpers of the API tests: servers on 127.0.0.1 (raw sockets, HTTP, HTTPS), their clients, certificates and tasks. */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer as createRawServer, type Server, type Socket } from "node:net";
import { createServiceClient, type ServiceClient, type ServiceOptions } from "../../src/api/service.ts";
import { selfSigned } from "../support/certificates.ts";

export const API_KEY = "sk-test-0123456789";

export interface Loopback {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

const running: (() => Promise<void>)[] = [];

/** Closes every server and client that the test has started. Call it in `afterEach`. */
export async function closeAll(): Promise<void> {
  for (const close of running.splice(0).reverse()) await close();
}

async function listen(server: Server, scheme: string): Promise<Loopback> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  running.push(close);
  return { url: `${scheme}://127.0.0.1:${port}`, port, close };
}

export type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const collecting =
  (handler: Handler) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => {});
    response.on("error", () => {});
    request.on("end", () => handler(request, response, Buffer.concat(chunks).toString()));
  };

/** Starts an HTTP server. The handler receives each request with its whole body. */
export function httpServer(handler: Handler): Promise<Loopback> {
  return listen(createServer(collecting(handler)), "http");
}

export function httpsServer(credentials: { key: string; cert: string }, handler: Handler): Promise<Loopback> {
  const server = createSecureServer(credentials, collecting(handler));
  server.on("tlsClientError", () => {});
  return listen(server, "https");
}

/**
 * Starts a TCP server that calls the handler once for each connection, when the head of a request has arrived. The
 * handler receives the bytes so far, and may send any bytes.
 */
export function rawServer(
  onRequest: (socket: Socket, head: string, connection: number) => void,
): Promise<Loopback> {
  let connections = 0;
  const server = createRawServer((socket) => {
    connections += 1;
    const connection = connections;
    let text = "";
    let isDone = false;
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (isDone || !text.includes("\r\n\r\n")) return;
      isDone = true;
      onRequest(socket, text, connection);
    });
  });
  return listen(server, "http");
}

/** Starts a TCP server that accepts connections and never answers. */
export function silentServer(scheme = "http"): Promise<Loopback> {
  return listen(
    createRawServer(() => {}),
    scheme,
  );
}

/** Creates a service client. `closeAll` closes it. */
export function clientOf(url: string, options: Partial<ServiceOptions> = {}): ServiceClient {
  const address = { baseUrl: url, apiKey: API_KEY };
  const service = createServiceClient(address, options);
  running.push(() => service.close());
  return service;
}

/** Creates a certificate and its key with openssl. Returns `null` if there is no openssl command. */
export function makeCertificate(subject: string, altName: string): { key: string; cert: string } | null {
  try {
    const made = selfSigned(subject, altName);
    const pair = { key: readFileSync(made.key, "utf8"), cert: readFileSync(made.certificate, "utf8") };
    made.remove();
    return pair;
  } catch {
    return null;
  }
}

/** Builds a queued task as the contract describes it, with the given changes. */
export function task(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: "task-1",
    object: "audio.generation",
    model: "audio-1.0",
    status: "queued",
    billing: { reserved_credits: 150, charged_credits: null, refunded_credits: null },
    output: null,
    usage: null,
    error: null,
    ...changes,
  };
}

export function succeededTask(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return task({
    status: "succeeded",
    billing: { reserved_credits: 150, charged_credits: 38, refunded_credits: 112 },
    output: {
      url: "https://audio.example/api/v1/audio/generations/task-1/content",
      format: "mp3",
      sample_rate: 24000,
      duration: 29.5,
    },
    usage: { audio_seconds: 29.5 },
    ...changes,
  });
}

export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

export const never = (): AbortSignal => new AbortController().signal;

/** Returns all chunks of a body. */
export async function readAll(body: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return chunks;
}
