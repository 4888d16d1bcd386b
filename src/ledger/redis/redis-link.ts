/** One connection to a Redis server or a Redis Cluster, as the few things that the ledger asks of either. */
import { createClient, createCluster } from "@keyv/redis";
import { within } from "./within.ts";

/** Sends one command; the answer is not parsed. */
export type Send = (command: readonly string[]) => Promise<unknown>;

export interface RedisLink {
  readonly isReady: boolean;
  /** `key` tells a cluster where the command belongs. */
  send(key: string, command: readonly string[]): Promise<unknown>;
  /** Every server that holds keys of its own. */
  nodes(): Promise<Send[]>;
  /** A cluster's masters, as they were last told; none for a single server. */
  servers(): readonly ClusterServer[];
  destroy(): void;
}

/** One server of a cluster. */
export interface ClusterServer {
  /** Its own, given at random when it was set up. */
  readonly id: string;
  readonly host: string;
  readonly port: number;
}

export interface LinkOptions {
  readonly url: URL;
  /** The servers of the cluster that was there before, which are asked where the one that is named is gone. */
  readonly known?: readonly ClusterServer[];
  readonly connectMs: number;
  readonly onError: (error: unknown) => void;
  /** Gets every link as soon as there is something to destroy. */
  readonly onOpen: (link: RedisLink) => void;
}

/**
 * The package makes a class of five hundred commands for each spelling of its options, which takes some megabytes and
 * milliseconds each time; it compares them as JSON. No option that is set here has to do with the class.
 */
const ONE_CLASS = { toJSON: (): string => "one class for all connections" };

/** No reconnecting in the background and no queue: what cannot be sent now fails now. */
function clientOptions({ url, connectMs }: LinkOptions) {
  const socket = { connectTimeout: connectMs, reconnectStrategy: false } as const;
  return {
    ...ONE_CLASS,
    disableOfflineQueue: true,
    // Said outright, for NODE_TLS_REJECT_UNAUTHORIZED=0 would otherwise unsay it.
    socket: url.protocol === "rediss:" ? { ...socket, tls: true as const, rejectUnauthorized: true } : socket,
  };
}

/**
 * Connects to what is at the address; a cluster is told by its own word. Where nothing answers there, and it was a
 * cluster before, its other servers are asked: one of them has taken over what the lost one held.
 */
export async function connectLink(options: LinkOptions): Promise<RedisLink> {
  const { known = [], connectMs } = options;
  if (known.length === 0) return await connectNamed(options);
  try {
    // First, and whatever others say: a person may have moved the address to another store.
    return await within(connectMs / 2, () => connectNamed(options));
  } catch (error) {
    return await firstOf(known.map((server) => connectKnown(options, server, known))).catch(() => {
      throw error;
    });
  }
}

/** One that is gone may not even refuse: all are asked at once, and the others are let go as they come. */
async function firstOf(tries: ReadonlyArray<Promise<RedisLink>>): Promise<RedisLink> {
  const first = await Promise.any(tries);
  for (const each of tries) {
    void each.then(
      (link) => link !== first && link.destroy(),
      () => undefined,
    );
  }
  return first;
}

/** Addresses are given to other machines again: a cluster of which no server is known is another one. */
async function connectKnown(
  options: LinkOptions,
  { host, port }: ClusterServer,
  known: readonly ClusterServer[],
): Promise<RedisLink> {
  const link = await connectCluster(options, { socket: { host, port } });
  if (link.servers().some(({ id }) => known.some((server) => server.id === id))) return link;
  link.destroy();
  throw new Error(`another cluster is at ${host}:${port}`);
}

async function connectNamed(options: LinkOptions): Promise<RedisLink> {
  const client = createClient({ url: options.url.href, ...clientOptions(options) });
  client.on("error", options.onError);
  const link: RedisLink = {
    get isReady() {
      return client.isReady;
    },
    send: (_key, command) => client.sendCommand([...command]),
    nodes: async () => [(command) => client.sendCommand([...command])],
    servers: () => [],
    destroy: () => {
      if (client.isOpen) client.destroy();
    },
  };
  options.onOpen(link);
  await client.connect();
  if (!(await isCluster(link))) {
    // An idle connection keeps no process alive; a command under way does, by the timer that bounds it.
    client.unref();
    return link;
  }
  link.destroy();
  return connectCluster(options, { url: options.url.href });
}

async function isCluster(link: RedisLink): Promise<boolean> {
  try {
    return /^cluster_enabled:1\r?$/m.test(String(await link.send("", ["INFO", "cluster"])));
  } catch (error) {
    // Some who offer Redis forbid INFO; a cluster then says so (MOVED) to the first key that is elsewhere.
    if (error instanceof Error && /^(?:NOPERM|ERR)\b/.test(error.message)) return probeCluster(link);
    throw error;
  }
}

/** Under a prefix that whoever may use this store may use. */
const PROBES = [..."abcdefgh"].map((letter) => `audio-generation-mcp:2:{${letter}}`);

async function probeCluster(link: RedisLink): Promise<boolean> {
  try {
    // In a cluster any one server knows at most some of these keys' slots.
    for (const key of PROBES) await link.send(key, ["EXISTS", key]);
    return false;
  } catch (error) {
    if (error instanceof Error && /^MOVED\b/.test(error.message)) return true;
    if (error instanceof Error && /^NOPERM\b/.test(error.message)) return false;
    throw error;
  }
}

async function connectCluster(
  options: LinkOptions,
  from: { readonly url: string } | { readonly socket: Pick<ClusterServer, "host" | "port"> },
): Promise<RedisLink> {
  const { url } = options;
  const { username, password } = url;
  const cluster = createCluster({
    ...ONE_CLASS,
    rootNodes: [from],
    defaults: {
      ...clientOptions(options),
      ...(username === "" ? {} : { username: decodeURIComponent(username) }),
      ...(password === "" ? {} : { password: decodeURIComponent(password) }),
    },
    // Servers are connected as they are needed: one that is away concerns only those whose keys it holds.
    minimizeConnections: true,
  });
  const nodes = () => [...cluster.nodeByAddress.values()];
  cluster.on("error", options.onError);
  cluster.on("node-error", options.onError);
  cluster.on("node-ready", () => {
    for (const node of nodes()) if (node.client?.isOpen) node.client.unref();
  });
  const link: RedisLink = {
    get isReady() {
      const isFit = (node: ReturnType<typeof nodes>[number]): boolean =>
        node.client === undefined || node.connectPromise !== undefined || node.client.isReady;
      return cluster.isOpen && nodes().every(isFit);
    },
    send: (key, command) => cluster.sendCommand(key, false, [...command]),
    async nodes() {
      const clients = await Promise.all(cluster.masters.map((master) => cluster.nodeClient(master)));
      return clients.map(
        (client): Send =>
          (command) =>
            client.sendCommand([...command]),
      );
    },
    servers: () => nodes().map(({ id, host, port }) => ({ id, host, port })),
    destroy: () => {
      if (cluster.isOpen) cluster.destroy();
    },
  };
  options.onOpen(link);
  await cluster.connect();
  return link;
}
