/** A Redis Cluster of a test's own: three masters on loopback, each with a third of the slots, and a replica each where asked for. */
import { createClient } from "@keyv/redis";
import { freePort, RedisServer } from "./redis-server.ts";

const SLOTS = 16_384;
const MASTERS = 3;

export interface ClusterOptions {
  /** One for each master: it takes the master's place where that is gone for `nodeTimeoutMs`. */
  readonly hasReplicas?: boolean;
  /** After so long of silence a server counts as gone; Redis's own 15 s by default. */
  readonly nodeTimeoutMs?: number;
  /** As on each server's command line. */
  readonly more?: readonly string[];
}

/** The bus of a cluster is 10,000 ports above by default, which there may not be; any free one will do. */
const settings = async (nodeTimeoutMs: number): Promise<string[]> => [
  "--cluster-enabled",
  "yes",
  "--cluster-port",
  String(await freePort()),
  "--cluster-config-file",
  "nodes.conf",
  "--cluster-node-timeout",
  String(nodeTimeoutMs),
  // A master waits five seconds for further replicas, which there are none of.
  "--repl-diskless-sync-delay",
  "0",
];

export interface RedisCluster {
  /** Of one of its servers; the others are found from there. */
  readonly url: string;
  /** The masters, the one of `url` first, then their replicas in the same order. */
  readonly servers: readonly RedisServer[];
  /** Until the replicas hold all that was written so far: they copy in the background, and what they lack dies with its master. */
  copied(): Promise<void>;
  remove(): Promise<void>;
}

type Client = Awaited<ReturnType<typeof connect>>;

const connect = (server: RedisServer) => createClient({ url: server.url }).connect();

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isSo()); tries += 1) {
    if (tries > 400) throw new Error(`the cluster did not come up: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

const told = async (client: Client, ...command: string[]): Promise<string> =>
  String(await client.sendCommand(command));

export async function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { hasReplicas = false, nodeTimeoutMs = 15_000, more = [] } = options;
  const count = hasReplicas ? 2 * MASTERS : MASTERS;
  const each = await Promise.all(Array.from({ length: count }, () => settings(nodeTimeoutMs)));
  const servers = await Promise.all(each.map((own) => RedisServer.start({ more: [...own, ...more] })));
  const clients = await Promise.all(servers.map(connect));
  const [first] = clients;
  if (first === undefined) throw new Error("there are no servers");
  for (const [at, client] of clients.entries()) {
    // Two of one epoch would have to settle first who is who.
    await told(client, "CLUSTER", "SET-CONFIG-EPOCH", String(at + 1));
    if (at >= MASTERS) continue;
    const from = Math.floor((SLOTS * at) / MASTERS);
    const to = Math.floor((SLOTS * (at + 1)) / MASTERS) - 1;
    await told(client, "CLUSTER", "ADDSLOTSRANGE", String(from), String(to));
  }
  for (const [at, server] of servers.entries()) {
    const bus = each[at]?.[3] ?? "";
    if (at > 0) await told(first, "CLUSTER", "MEET", "127.0.0.1", String(server.port), bus);
  }
  for (const client of clients) {
    await until("its servers do not know each other", async () => {
      const info = await told(client, "CLUSTER", "INFO");
      return /cluster_state:ok/.test(info) && new RegExp(`cluster_known_nodes:${count}\\b`).test(info);
    });
  }
  for (const [at, client] of clients.entries()) {
    const master = clients[at - MASTERS];
    if (master === undefined) continue;
    await told(client, "CLUSTER", "REPLICATE", await told(master, "CLUSTER", "MYID"));
    await until("a replica is not in step", async () =>
      /master_link_status:up/.test(await told(client, "INFO", "replication")),
    );
  }
  for (const client of clients) client.destroy();
  const [server] = servers;
  if (server === undefined) throw new Error("there are no servers");
  const remove = async (): Promise<void> => void (await Promise.all(servers.map((one) => one.remove())));
  const offset = async (at: number): Promise<number> => {
    const told = (await servers[at]?.command("INFO replication")) ?? "";
    return Number(/^(?:slave|master)_repl_offset:(\d+)/m.exec(told)?.[1]);
  };
  const copied = async (): Promise<void> => {
    for (let at = 0; hasReplicas && at < MASTERS; at += 1) {
      const written = await offset(at);
      await until("a replica lags behind", async () => (await offset(at + MASTERS)) >= written);
    }
  };
  return { url: server.url, servers, copied, remove };
}
