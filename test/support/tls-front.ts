/** The network around a service in tests: TLS with its own authority, and a proxy that counts its tunnels. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket, type Server as TcpServer } from "node:net";
import { join } from "node:path";
import tls from "node:tls";

const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];

export interface Authority {
  /** The authority's own certificate, for NODE_EXTRA_CA_CERTS. */
  readonly file: string;
  readonly credentials: { key: string; cert: string };
}

/** Makes an authority, and a certificate that it signs for `names`. Returns `null` if openssl is missing. */
export function makeAuthority(folder: string, names: readonly string[]): Authority | null {
  const root = mkdtempSync(join(folder, "ca-"));
  const openssl = (...args: string[]): void => {
    execFileSync("openssl", args, { cwd: root, stdio: "ignore" });
  };
  try {
    openssl("req", "-x509", ...KEY, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test authority");
    openssl("req", ...KEY, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=audio.test");
    writeFileSync(join(root, "names"), `subjectAltName=${names.join(",")}\n`);
    const signed = [
      "-CA",
      "ca.pem",
      "-CAkey",
      "ca.key",
      "-CAcreateserial",
      "-extfile",
      "names",
      "-days",
      "2",
    ];
    openssl("x509", "-req", "-in", "request.pem", "-out", "cert.pem", ...signed);
  } catch {
    if (!existsSync(join(root, "cert.pem"))) return null;
  }
  const read = (name: string): string => readFileSync(join(root, name), "utf8");
  return { file: join(root, "ca.pem"), credentials: { key: read("key.pem"), cert: read("cert.pem") } };
}

async function listen(server: TcpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port; // a server on TCP never returns a string
}

/** Starts a TLS server that forwards the decrypted data to a plain port on this machine. */
export async function tlsFront(
  { credentials }: Authority,
  toPort: number,
): Promise<{ port: number; close(): void }> {
  const server = tls.createServer(credentials, (socket) => {
    const upstream = connect(toPort, "127.0.0.1");
    socket.on("error", () => upstream.destroy());
    upstream.on("error", () => socket.destroy());
    socket.pipe(upstream).pipe(socket);
  });
  const port = await listen(server);
  return { port, close: () => server.close() };
}

export interface CountingProxy {
  readonly url: string;
  /** The target of each requested tunnel, and the credentials that the client sent to the proxy. */
  readonly tunnels: Array<{ target: string; authorization: string | undefined }>;
  /** Plaintext requests to the proxy, which must never happen. */
  readonly plainRequests: string[];
  /** Returns everything that the tunnels carried to the service. */
  overheard(): string;
  close(): void;
}

/** Starts a real CONNECT proxy. `resolve` maps a target, which only the proxy knows, to a port on this machine. */
export async function countingProxy(resolve: (target: string) => number): Promise<CountingProxy> {
  const tunnels: CountingProxy["tunnels"] = [];
  const plainRequests: string[] = [];
  const receivedChunks: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((request, response) => {
    plainRequests.push(request.url ?? "");
    response.writeHead(502).end();
  });
  server.on("connect", (request, socket: Socket, head: Buffer) => {
    tunnels.push({ target: request.url ?? "", authorization: request.headers["proxy-authorization"] });
    const upstream = connect(resolve(request.url ?? ""), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.write(head);
      socket.on("data", (chunk) => receivedChunks.push(chunk));
      socket.pipe(upstream).pipe(socket);
    });
    sockets.add(socket);
    socket.on("error", () => upstream.destroy());
    upstream.on("error", () => socket.destroy());
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    tunnels,
    plainRequests,
    overheard: () => Buffer.concat(receivedChunks).toString("latin1"),
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
