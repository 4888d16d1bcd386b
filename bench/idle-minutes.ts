/** Counts from outside how often a server that has done its work wakes up, in real time, beside programs that have nothing to do. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { RedisServer, whyNoRedis } from "../test/support/redis-server.ts";
import { BARE_NODE, minimalServer, OURS } from "./contenders.ts";
import { type Sample, sample } from "./measure.ts";
import { openPlace, type Place } from "./place.ts";
import { RawClient } from "./raw-client.ts";

/** V8 clears up for some seconds after the last work, and idle connections to the service are closed after four. */
const SETTLES_MS = 30_000;
/** Longer than the eight seconds of V8's own timer, which runs in every program that has collected its memory once. */
const ROUND_MS = 10_000;

/** How often any thread of the process has gone to sleep, and so was awake; Linux only. */
function wakeUps(client: RawClient): number {
  const tasks = `/proc/${client.child.pid}/task`;
  let count = 0;
  for (const task of readdirSync(tasks)) {
    const status = readFileSync(`${tasks}/${task}/status`, "utf8");
    for (const [, switches] of status.matchAll(/ctxt_switches:\s+(\d+)/g)) count += Number(switches);
  }
  return count;
}

async function work(client: RawClient): Promise<void> {
  for (let text = 0; text < 5; text += 1) {
    await client.call("generate_audio", { prompt: `Text ${text} of a day's work` });
    await client.call("list_tasks", {});
  }
}

export const MINIMAL = "minimal server on the same SDK";

export interface Idler {
  readonly name: string;
  readonly perMinute: Sample;
  /** Grown while it was watched. */
  readonly residentMiB: number;
  readonly handles: number;
}

/** All of them at once: one that sleeps is not disturbed by the others. */
export async function watchIdlers(rounds: number): Promise<Idler[]> {
  const places: Place[] = [];
  const clients = new Map<string, RawClient>();
  const redis = whyNoRedis() === undefined ? await RedisServer.start() : null;
  const start = async (name: string, client: RawClient): Promise<RawClient> => {
    clients.set(name, client);
    await client.initialize();
    return client;
  };
  const startOurs = async (name: string, more: Record<string, string>, isWorking: boolean): Promise<void> => {
    const place = await openPlace(20_000);
    places.push(place);
    const client = await start(name, new RawClient(OURS, { ...place.env, ...more }));
    if (isWorking) await work(client);
  };
  try {
    await start("bare Node", new RawClient(BARE_NODE));
    await start(MINIMAL, new RawClient(await minimalServer()));
    await startOurs("ours, after the handshake", {}, false);
    await startOurs("ours, after work, SQLite", {}, true);
    if (redis !== null) await startOurs("ours, after work, Redis", { AUDIO_STORE_URL: redis.url }, true);
    await pause(SETTLES_MS);
    const all = [...clients].map(([name, client]) => ({ name, client, perMinute: [] as number[] }));
    const handlesBefore = await Promise.all(all.map(({ client }) => client.openHandles()));
    const memoryBefore = all.map(({ client }) => client.residentMiB());
    for (let round = 0; round < rounds; round += 1) {
      const before = all.map(({ client }) => wakeUps(client));
      await pause(ROUND_MS);
      for (const [at, { client, perMinute }] of all.entries()) {
        perMinute.push(((wakeUps(client) - (before[at] ?? 0)) / ROUND_MS) * 60_000);
      }
    }
    return await Promise.all(
      all.map(async ({ name, client, perMinute }, at) => ({
        name,
        perMinute: sample(name, "a minute", perMinute),
        residentMiB: client.residentMiB() - (memoryBefore[at] ?? 0),
        handles: (await client.openHandles()) - (handlesBefore[at] ?? 0),
      })),
    );
  } finally {
    for (const client of clients.values()) await client.stop();
    for (const place of places) await place.remove();
    await redis?.remove();
  }
}
