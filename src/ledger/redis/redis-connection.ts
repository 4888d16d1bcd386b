/** Connects to Redis on demand, within bounds of time, and never says a word of its credentials. */
import { AudioError } from "../../errors.ts";
import { describeCause, type Log } from "../../log.ts";
import { isMendedByReconnecting, redisFault, TimedOut } from "./redis-faults.ts";
import { type ClusterServer, connectLink, type RedisLink } from "./redis-link.ts";
import { within } from "./within.ts";

/** Connecting, with the handshake and signing in; and once more what is to be known of a new connection. */
const CONNECT_MS = 2_000;
/** One command, sent and answered. A server that takes longer is treated as gone. */
const COMMAND_MS = 3_000;

export interface RedisConnectionOptions {
  readonly storeUrl: string;
  readonly log: Log;
  /** Runs once on each new connection, before anybody uses it; within the connecting time. */
  readonly prepare?: (link: RedisLink) => Promise<void>;
}

/**
 * Connects only when somebody asks: there is no loop in the background, no queue that waits for a server to come
 * back. Each connection is a new client, so that nothing of a lost one lingers.
 */
export class RedisConnection {
  /** Host, port and database, for a person. */
  readonly place: string;
  readonly #url: URL;
  readonly #options: RedisConnectionOptions;
  #link: RedisLink | undefined;
  /** Of the cluster, as it was last seen. */
  #known: readonly ClusterServer[] = [];
  #connecting: Promise<RedisLink> | undefined;
  readonly #left = new Set<RedisLink>();
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
   * Runs `work` with a link that is connected, connecting first where needed; once more on a new connection where
   * the old one's server turns out not to be the one to ask.
   *
   * @throws AudioError `store_unavailable` within seconds
   */
  async use<T>(work: (link: RedisLink) => Promise<T>): Promise<T> {
    try {
      return await this.#once(work);
    } catch (error) {
      if (!isMendedByReconnecting(error)) throw this.#fault(error);
    }
    try {
      return await this.#once(work);
    } catch (error) {
      throw this.#fault(error);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const link of this.#left) this.#drop(link);
    if (this.#link !== undefined) this.#drop(this.#link);
  }

  async #once<T>(work: (link: RedisLink) => Promise<T>): Promise<T> {
    const link = await this.#connected();
    try {
      return await within(COMMAND_MS, () => work(link));
    } catch (error) {
      // After a time-out the answers that are still to come belong to nobody: only a new connection is clean.
      if (error instanceof TimedOut) this.#drop(link);
      if (isMendedByReconnecting(error)) this.#leave(link);
      throw error;
    }
  }

  async #connected(): Promise<RedisLink> {
    this.#throwIfClosed();
    if (this.#link?.isReady) return this.#link;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #connect(): Promise<RedisLink> {
    if (this.#link !== undefined) this.#drop(this.#link);
    const opened: RedisLink[] = [];
    try {
      const link = await within(CONNECT_MS, () =>
        connectLink({
          url: this.#url,
          known: this.#known,
          connectMs: CONNECT_MS,
          onError: (error) => this.#options.log.debug(`redis: ${this.#clean(describeCause(error))}`),
          onOpen: (open) => opened.push(open),
        }),
      );
      await within(CONNECT_MS, async () => this.#options.prepare?.(link));
      this.#throwIfClosed();
      this.#link = link;
      return link;
    } catch (error) {
      for (const link of opened) this.#drop(link);
      throw error;
    }
  }

  #throwIfClosed(): void {
    if (this.#isClosed) throw new AudioError("store_unavailable", "The ledger was already closed.");
  }

  #drop(link: RedisLink): void {
    this.#forget(link);
    this.#left.delete(link);
    link.destroy();
  }

  /** Its cluster's servers alone are remembered. Answers whether it was in use. */
  #forget(link: RedisLink): boolean {
    if (this.#link !== link) return false;
    this.#known = link.servers();
    this.#link = undefined;
    return true;
  }

  /** Nobody asks it any more; what is under way there may still be answered. */
  #leave(link: RedisLink): void {
    if (!this.#forget(link)) return;
    this.#left.add(link);
    setTimeout(() => this.#drop(link), COMMAND_MS).unref();
  }

  #fault(error: unknown): AudioError {
    return redisFault(error, this.place, (text) => this.#clean(text));
  }

  #clean(text: string): string {
    let clean = text.replaceAll(this.#url.href, this.place);
    for (const part of [this.#url.password, this.#url.username]) {
      for (const spelling of new Set([part, safeDecode(part)])) {
        if (spelling !== "") clean = clean.replaceAll(spelling, "[redacted]");
      }
    }
    return clean;
  }
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
