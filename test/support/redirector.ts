/** An address that forwards connections to a selected server, to simulate a failover. */
import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";

export interface Redirector {
  readonly port: number;
  /** Forwards new connections to the given port. Open connections keep their server. */
  leadTo(port: number): void;
  close(): Promise<void>;
}

export async function startRedirector(port: number): Promise<Redirector> {
  let target = port;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = createConnection(target, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return {
    port: address.port,
    leadTo(next) {
      target = next;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
