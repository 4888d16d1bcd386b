/** A Redis Cluster of a test's own: three masters on loopback, each with a third of the slots. */
import { createClient } from "@keyv/redis";
import { freePort, RedisServer } from "./redis-server.ts";

const SLOTS = 16_384;
/** The bus of a cluster is 10,000 ports above by default, which there may not be; any free one will do. */
const settings = async (): Promise<string[]> => [
  "--cluster-enabled",
  "yes",
  "--cluster-port",
  String(await freePort()),
  "--cluster-config-file",
  "nodes.conf",
];

export interface RedisCluster {
  /** Of one of its servers; the others are found from there. */
  readonly url: string;
  readonly servers: readonly RedisServer[];
  remove(): Promise<void>;
}

export async function startCluster(): Promise<RedisCluster> {
  const ports = await Promise.all([0, 1, 2].map(async () => settings()));
  const servers = await Promise.all(ports.map((more) => RedisServer.start({ more })));
  const clients = await Promise.all(servers.map(({ url }) => createClient({ url }).connect()));
  const [first] = clients;
  if (first === undefined) throw new Error("there are no servers");
  for (const [at, client] of clients.entries()) {
    const from = Math.floor((SLOTS * at) / clients.length);
    const to = Math.floor((SLOTS * (at + 1)) / clients.length) - 1;
    await client.sendCommand(["CLUSTER", "ADDSLOTSRANGE", String(from), String(to)]);
    // Two of one epoch would have to settle first who is who.
    await client.sendCommand(["CLUSTER", "SET-CONFIG-EPOCH", String(at + 1)]);
  }
  for (const [at, server] of servers.entries()) {
    const bus = ports[at]?.[3] ?? "";
    if (at > 0) await first.sendCommand(["CLUSTER", "MEET", "127.0.0.1", String(server.port), bus]);
  }
  for (const client of clients) {
    const isReady = async (): Promise<boolean> => {
      const info = String(await client.sendCommand(["CLUSTER", "INFO"]));
      return /cluster_state:ok/.test(info) && /cluster_known_nodes:3/.test(info);
    };
    for (let tries = 0; !(await isReady()); tries += 1) {
      if (tries > 400) throw new Error("the cluster did not come up");
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
  for (const client of clients) client.destroy();
  const [server] = servers;
  if (server === undefined) throw new Error("there are no servers");
  const remove = async (): Promise<void> => void (await Promise.all(servers.map((each) => each.remove())));
  return { url: server.url, servers, remove };
}
