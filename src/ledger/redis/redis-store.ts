/** Owns the store that several machines share: composes its parts over one connection; knows nothing of files. */
import Keyv from "keyv";
import { z } from "zod";
import type { Clock } from "../../clock.ts";
import { AudioError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { createRecords, RECORD_KEYV_OPTIONS } from "../records.ts";
import type { Store } from "../store.ts";
import { KeyvShared } from "./keyv-shared.ts";
import { type RedisClient, RedisConnection } from "./redis-connection.ts";
import { RedisCoordinator } from "./redis-coordinator.ts";
import { CHECK_KEY, RECORD_NAMESPACE, VERSION_KEY } from "./redis-keys.ts";
import { ScriptRunner } from "./redis-script.ts";

/** Grows with every change of keys or scripts that an older program would misread. */
const LAYOUT_VERSION = 1;

export interface RedisStoreOptions {
  /** `redis://` or `rediss://`, credentials included; they go nowhere else. */
  readonly storeUrl: string;
  readonly log: Log;
  readonly clock: Clock;
  /** Moves the scripts' clock by so many milliseconds: for tests, which let time pass by it. */
  readonly skewMs?: () => number;
}

/** The ledger on a Redis server; nothing is connected before its first use. */
export function openRedisStore(options: RedisStoreOptions): Store {
  const { storeUrl, log, clock, skewMs = () => 0 } = options;
  const connection = new RedisConnection({ storeUrl, log, prepare: checkLayout });
  const keyv = new Keyv(new KeyvShared(connection), {
    ...RECORD_KEYV_OPTIONS,
    namespace: RECORD_NAMESPACE,
    useKeyPrefix: false,
  });
  return {
    records: createRecords(keyv, log, clock),
    coordinator: new RedisCoordinator(new ScriptRunner(connection, skewMs)),
    description: `Redis at ${connection.place}`,
    async check() {
      await connection.use((client) => client.incr(CHECK_KEY));
    },
    close: () => connection.close(),
  };
}

/** Refuses what a newer program laid out; marks what nobody has laid out yet. */
async function checkLayout(client: RedisClient): Promise<void> {
  await client.set(VERSION_KEY, String(LAYOUT_VERSION), { condition: "NX" });
  const found = z.coerce.number().parse(await client.get(VERSION_KEY));
  if (found <= LAYOUT_VERSION) return;
  throw new AudioError(
    "store_unavailable",
    `The shared store was laid out by a newer version of this program (layout ${found}; this one knows ${LAYOUT_VERSION}).`,
    { remedy: "Update audio-generation-mcp on this machine." },
  );
}
