/** A port for servers that start later or again. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Systems take the ports of outgoing connections from above this range. */
const [LOWEST, HIGHEST] = [20_000, 32_000];

/**
 * Returns a port of this machine on which nobody listens. No outgoing connection of another test can take it before
 * the server starts, or while the server is down.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = randomInt(LOWEST, HIGHEST);
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch {
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
  throw new Error(`no port from ${LOWEST} to ${HIGHEST} is free`);
}
