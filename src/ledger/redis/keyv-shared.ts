/** Owns Keyv's official Redis adapter behind our connection, so that no call of it waits for ever; knows no record. */
import { EventEmitter } from "node:events";
import KeyvRedis from "@keyv/redis";
import type { KeyvStoreAdapter } from "keyv";
import { z } from "zod";
import type { RedisClient, RedisConnection } from "./redis-connection.ts";

const textEntries = z.array(z.object({ key: z.string(), value: z.string(), ttl: z.number().optional() }));

/** Keys are `<namespace>:<key>`; made for a Keyv with `useKeyPrefix: false`, which would prefix them again. */
export class KeyvShared extends EventEmitter implements KeyvStoreAdapter {
  readonly opts: { dialect: "redis"; url: string };
  namespace?: string | undefined;
  readonly #connection: RedisConnection;
  readonly #adapters = new WeakMap<RedisClient, KeyvRedis<string>>();

  constructor(connection: RedisConnection) {
    super();
    this.#connection = connection;
    this.opts = { dialect: "redis", url: `redis://${connection.place}` };
  }

  // Keyv's interface lets the caller name the type of what is stored; here it is always text.
  get<Value>(key: string): Promise<Value | undefined> {
    return this.#use((adapter) => adapter.get<Value>(key));
  }

  getMany<Value>(keys: string[]): Promise<Array<Value | undefined>> {
    return this.#use((adapter) => adapter.getMany<Value>(keys));
  }

  set(key: string, value: unknown, ttl?: number): Promise<void> {
    return this.#use((adapter) => adapter.set(key, z.string().parse(value), ttl));
  }

  setMany(entries: Array<{ key: string; value: unknown; ttl?: number }>): Promise<void> {
    return this.#use((adapter) =>
      adapter.setMany(
        textEntries
          .parse(entries)
          .map(({ key, value, ttl }) => (ttl === undefined ? { key, value } : { key, value, ttl })),
      ),
    );
  }

  delete(key: string): Promise<boolean> {
    return this.#use((adapter) => adapter.delete(key));
  }

  deleteMany(keys: string[]): Promise<boolean> {
    return this.#use((adapter) => adapter.deleteMany(keys));
  }

  clear(): Promise<void> {
    return this.#use((adapter) => adapter.clear());
  }

  has(key: string): Promise<boolean> {
    return this.#use((adapter) => adapter.has(key));
  }

  /** The one call whose whole is not bounded, for it walks everything: each page of it waits for the caller. */
  async *iterator<Value>(
    namespace?: string,
  ): AsyncGenerator<Array<string | Awaited<Value> | undefined>, void> {
    const adapter = await this.#use(async (connected) => connected);
    for await (const [key, value] of adapter.iterator<Awaited<Value>>(namespace)) yield [key, value];
  }

  disconnect(): Promise<void> {
    return this.#connection.close();
  }

  #use<T>(work: (adapter: KeyvRedis<string>) => Promise<T>): Promise<T> {
    return this.#connection.use((client) => {
      const adapter = this.#adapterOf(client);
      adapter.namespace = this.namespace;
      return work(adapter);
    });
  }

  #adapterOf(client: RedisClient): KeyvRedis<string> {
    const known = this.#adapters.get(client);
    if (known !== undefined) return known;
    const adapter = new KeyvRedis<string>(client, {
      keyPrefixSeparator: ":",
      throwOnErrors: true,
      throwOnConnectError: true,
    });
    this.#adapters.set(client, adapter);
    return adapter;
  }
}
