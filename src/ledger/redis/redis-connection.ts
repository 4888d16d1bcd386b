/** Owns the connection to Redis: on demand, bounded in time, and never a word of its credentials; knows no key. */
import { createClient } from "@keyv/redis";
import { AudioError } from "../../errors.ts";
import { describeCause, type Log } from "../../log.ts";

/** Connecting, with the handshake and signing in. */
const CONNECT_MS = 2_000;
/** One command, sent and answered. A server that takes longer is treated as gone. */
const COMMAND_MS = 3_000;

/** No reconnecting in the background and no queue: what cannot be sent now fails now. */
function newClient(url: string) {
  return createClient({
    url,
    disableOfflineQueue: true,
    socket: { connectTimeout: CONNECT_MS, reconnectStrategy: false },
  });
}
export type RedisClient = ReturnType<typeof newClient>;

export interface RedisConnectionOptions {
  readonly storeUrl: string;
  readonly log: Log;
  /** Runs once on each new connection, before anybody uses it; within the connecting time. */
  readonly prepare: (client: RedisClient) => Promise<void>;
}

/**
 * A client reconnects only when somebody asks: there is no loop in the background, no queue that waits for a
 * server to come back. Each connection is a new client, so that nothing of a lost one lingers.
 */
export class RedisConnection {
  /** Host, port and database, for a person. */
  readonly place: string;
  readonly #url: URL;
  readonly #options: RedisConnectionOptions;
  #client: RedisClient | undefined;
  #connecting: Promise<RedisClient> | undefined;
  #isClosed = false;

  /** @throws AudioError `configuration_error` for an address that is none */
  constructor(options: RedisConnectionOptions) {
    this.#options = options;
    const url = URL.canParse(options.storeUrl) ? new URL(options.storeUrl) : undefined;
    if (url === undefined || !/^rediss?:$/.test(url.protocol) || !/^\/?\d*$/.test(url.pathname)) {
      throw new AudioError("configuration_error", "AUDIO_STORE_URL is not the address of a Redis server.", {
        remedy: "Set it to redis://host:port or rediss://user:password@host:port/database.",
      });
    }
    this.#url = url;
    this.place = `${url.host}${url.pathname === "/" ? "" : url.pathname}`;
  }

  /**
   * Runs `work` with a client that is connected, connecting first where needed.
   *
   * @throws AudioError `store_unavailable` after at most five seconds
   */
  async use<T>(work: (client: RedisClient) => Promise<T>): Promise<T> {
    let client: RedisClient | undefined;
    try {
      client = await this.#connected();
      return await within(COMMAND_MS, work(client));
    } catch (error) {
      // After a time-out the answers that are still to come belong to nobody: only a new connection is clean.
      if (error instanceof TimedOut && client !== undefined) this.#drop(client);
      throw this.#fault(error);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#client !== undefined) this.#drop(this.#client);
  }

  async #connected(): Promise<RedisClient> {
    if (this.#isClosed) throw new AudioError("store_unavailable", "The ledger was already closed.");
    if (this.#client?.isReady) return this.#client;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #connect(): Promise<RedisClient> {
    if (this.#client !== undefined) this.#drop(this.#client);
    const client = newClient(this.#url.href);
    client.on("error", (error) => this.#options.log.debug(`redis: ${describeCause(error)}`));
    try {
      await within(CONNECT_MS, client.connect());
      await within(CONNECT_MS, this.#options.prepare(client));
    } catch (error) {
      this.#drop(client);
      throw error;
    }
    if (this.#isClosed) {
      this.#drop(client);
      throw new AudioError("store_unavailable", "The ledger was already closed.");
    }
    // An idle connection keeps no process alive; a command under way does, by the timer that bounds it.
    client.unref();
    this.#client = client;
    return client;
  }

  #drop(client: RedisClient): void {
    if (this.#client === client) this.#client = undefined;
    if (client.isOpen) client.destroy();
  }

  #fault(error: unknown): AudioError {
    if (error instanceof AudioError) return error;
    const why = this.#withoutSecrets(describeCause(error));
    const isRefused = /NOAUTH|WRONGPASS|NOPERM/.test(why);
    return new AudioError("store_unavailable", `The shared store at ${this.place} cannot be used: ${why}.`, {
      retryable: !isRefused,
      remedy: isRefused
        ? "Check the user and the password in AUDIO_STORE_URL."
        : "Check that the Redis server of AUDIO_STORE_URL runs and can be written, then call again.",
    });
  }

  #withoutSecrets(text: string): string {
    let clean = text.replaceAll(this.#url.href, this.place);
    for (const part of [this.#url.password, this.#url.username]) {
      for (const spelling of new Set([part, safeDecode(part)])) {
        if (spelling !== "") clean = clean.replaceAll(spelling, "[redacted]");
      }
    }
    return clean;
  }
}

class TimedOut extends Error {}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimedOut(`no answer within ${ms / 1000} seconds`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
