/** Lets nobody use a store that is laid out otherwise: newer ones are refused, version 0.1.0's is taken over first. */
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { withDeadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { RedisConnection } from "./redis-connection.ts";
import { VERSION_KEY } from "./redis-keys.ts";
import type { RedisLink } from "./redis-link.ts";
import type { Rows } from "./redis-rows.ts";
import { takeOver } from "./take-over.ts";

/** Grows with every change of keys or scripts that an older program would misread. */
export const LAYOUT_VERSION = 2;
/** How long a call waits while the store is taken over; it goes on all the same. */
const PATIENCE_MS = 3_000;

/** Not an answer to anybody: the guard takes the store over and asks again. */
class OldLayout extends AudioError {}

export interface GuardOptions {
  readonly storeUrl: string;
  readonly log: Log;
  readonly rows: Rows;
  readonly wallMs: () => number;
  /** Runs on each new connection to a store of this layout. */
  readonly welcome: (link: RedisLink) => Promise<void>;
}

/** A connection to a store whose layout is this program's. */
export class LayoutGuard {
  readonly #options: GuardOptions;
  readonly #connection: RedisConnection;
  #takingOver: Promise<void> | undefined;
  readonly #closing = new AbortController();

  constructor(options: GuardOptions) {
    this.#options = options;
    const { storeUrl, log, welcome } = options;
    const prepare = async (link: RedisLink): Promise<void> => {
      await checkLayout(link);
      await welcome(link);
    };
    this.#connection = new RedisConnection({ storeUrl, log, prepare });
  }

  get place(): string {
    return this.#connection.place;
  }

  async use<T>(work: (link: RedisLink) => Promise<T>): Promise<T> {
    try {
      return await this.#connection.use(work);
    } catch (error) {
      if (!(error instanceof OldLayout)) throw error;
    }
    this.#takingOver ??= this.#takeOver().finally(() => {
      this.#takingOver = undefined;
    });
    const takingOver = this.#takingOver;
    const sleep = (ms: number, signal?: AbortSignal) => pause<void>(ms, undefined, { signal });
    await withDeadline({ clock: { sleep }, ms: PATIENCE_MS, late: stillTakingOver }, () => takingOver);
    return this.#connection.use(work);
  }

  close(): Promise<void> {
    this.#closing.abort();
    return this.#connection.close();
  }

  async #takeOver(): Promise<void> {
    const { storeUrl, log, rows, wallMs } = this.#options;
    const connection = new RedisConnection({ storeUrl, log });
    try {
      await takeOver({ connection, log, rows, wallMs, signal: this.#closing.signal });
    } finally {
      await connection.close();
    }
  }
}

function stillTakingOver(): AudioError {
  return new AudioError("store_unavailable", "The shared store of version 0.1.0 is being taken over.", {
    retryable: true,
    remedy: "Call again in a moment.",
  });
}

/** Refuses what a newer program laid out; marks what nobody has laid out yet. */
async function checkLayout(link: RedisLink): Promise<void> {
  await link.send(VERSION_KEY, ["SET", VERSION_KEY, String(LAYOUT_VERSION), "NX"]);
  const found = z.coerce.number().parse(await link.send(VERSION_KEY, ["GET", VERSION_KEY]));
  if (found === LAYOUT_VERSION) return;
  if (found < LAYOUT_VERSION) {
    throw new OldLayout("store_unavailable", "The shared store has the layout of version 0.1.0.");
  }
  throw new AudioError(
    "store_unavailable",
    `The shared store was laid out by a newer version of this program (layout ${found}; this one knows ${LAYOUT_VERSION}).`,
    { remedy: "Update audio-generation-mcp on this machine." },
  );
}
