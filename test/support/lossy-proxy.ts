/** A proxy that loses responses: the server executes a request, but the client gets no response. */
import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";

export interface LossyProxy {
  readonly port: number;
  /** Drops the next `count` answers that contain the value of `holding`, and closes the connection of each. */
  loseAnswers(count: number, holding?: string): void;
  /** Changes the server's responses from now on. */
  alterAnswers(change: (bytes: Buffer) => Buffer): void;
  /** Returns the number of round trips. All that a client sends before the server answers counts as one. */
  roundTrips(): number;
  /** Breaks every connection, including requests in progress. */
  sever(): void;
  close(): Promise<void>;
}

export async function startLossyProxy(targetPort: number): Promise<LossyProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let lossesLeft = 0;
  let requiredBytes = "";
  let alter = (bytes: Buffer): Buffer => bytes;
  let roundTrips = 0;
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
    let isAnswered = true;
    near.pipe(far);
    near.on("data", () => {
      if (isAnswered) roundTrips += 1;
      isAnswered = false;
    });
    far.on("data", (bytes) => {
      isAnswered = true;
      if (lossesLeft === 0 || !bytes.includes(requiredBytes)) near.write(alter(bytes));
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
    loseAnswers(count, holding = "") {
      lossesLeft = count;
      requiredBytes = holding;
    },
    alterAnswers(change) {
      alter = change;
    },
    roundTrips: () => roundTrips,
    sever,
    async close() {
      sever();
      server.close();
      await once(server, "close");
    },
  };
}
