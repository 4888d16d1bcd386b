/** Opens connections to one origin: within their time, and with its certificate checked before anything is written. */
import { connect, isIP, type Socket } from "node:net";

export interface Connector {
  /** @param done told once, with the socket also where it failed */
  open(done: (error: Error | null, socket: Socket) => void): void;
  /** Breaks off what is being opened. */
  close(): void;
}

const failure = (message: string, code: string): Error => Object.assign(new Error(message), { code });

export function createConnector(base: URL, connectMs: number): Connector {
  const isHttps = base.protocol === "https:";
  const host = base.hostname.replace(/^\[|\]$/g, "");
  const port = Number(base.port) || (isHttps ? 443 : 80);
  const opening = new Set<Socket>();
  let session: Buffer | undefined;

  function openSecure(): Socket {
    const socket = process.getBuiltinModule("node:tls").connect({
      host,
      port,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(session === undefined ? {} : { session }),
      ALPNProtocols: ["http/1.1"],
      // Said outright, so that NODE_TLS_REJECT_UNAUTHORIZED cannot unsay it.
      rejectUnauthorized: true,
    });
    socket.on("session", (next) => {
      session = next;
    });
    return socket;
  }

  return {
    open(done) {
      const socket = isHttps ? openSecure() : connect({ host, port });
      socket.setNoDelay(true);
      opening.add(socket);
      const settle = (error: Error | null): void => {
        if (!opening.delete(socket)) return;
        clearTimeout(timer);
        if (error !== null) session = undefined;
        done(error, socket);
      };
      const timer = setTimeout(
        () => socket.destroy(failure("no connection in time", "ETIMEDOUT")),
        connectMs,
      );
      socket.once(isHttps ? "secureConnect" : "connect", () => settle(null));
      // For as long as it lives: an error that nobody listens to would end the process.
      socket.on("error", settle);
      socket.once("close", () => settle(failure("closed while it was opened", "ECONNRESET")));
    },
    close() {
      for (const socket of opening) socket.destroy();
    },
  };
}
