/** A way to a server that loses answers: what was asked is done there, and whoever asked never hears of it. */
import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";

export interface LossyProxy {
  readonly port: number;
  /** The next answers are lost, each with its connection. */
  loseAnswers(count: number): void;
  /** Breaks every connection, whatever is under way. */
  sever(): void;
  close(): Promise<void>;
}

export async function startLossyProxy(targetPort: number): Promise<LossyProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let lossesLeft = 0;
  const server = createServer((near) => {
    const far = createConnection(targetPort, "127.0.0.1");
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const socket of pair) {
      socket.on("error", () => undefined);
      socket.on("close", () => {
        pairs.delete(pair);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.on("data", (bytes) => {
      if (lossesLeft === 0) near.write(bytes);
      else {
        lossesLeft -= 1;
        near.destroy();
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port was given");
  const sever = (): void => {
    for (const [near] of pairs) near.destroy();
  };
  return {
    port: address.port,
    loseAnswers(count) {
      lossesLeft = count;
    },
    sever,
    async close() {
      sever();
      server.close();
      await once(server, "close");
    },
  };
}
