/** Owns running a Lua script: by its digest, or whole where the server does not have it; knows no script. */
import { createHash } from "node:crypto";
import type { RedisClient, RedisConnection } from "./redis-connection.ts";

export interface RedisScript {
  readonly source: string;
  readonly digest: string;
}

/**
 * Every script reads the server's clock into `now`, in milliseconds since 1970, moved by ARGV[1]; times are kept as
 * text, for Redis's JSON and numbers lose digits.
 */
const PRELUDE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000 + tonumber(ARGV[1])
local function text(ms) return string.format('%.3f', ms) end
-- A time ahead was written before the clock was set back: it counts from now, once.
local function clamped(entry, name)
  if tonumber(entry[name]) <= now then return false end
  entry[name] = text(now)
  return true
end
`;

export function redisScript(...parts: string[]): RedisScript {
  const source = [PRELUDE, ...parts].join("\n");
  return { source, digest: createHash("sha1").update(source).digest("hex") };
}

/** Runs scripts on one connection. `skewMs` moves their clock: tests let time pass by it. */
export class ScriptRunner {
  readonly #connection: RedisConnection;
  readonly #skewMs: () => number;

  constructor(connection: RedisConnection, skewMs: () => number) {
    this.#connection = connection;
    this.#skewMs = skewMs;
  }

  /** The script's answer, not parsed; `values` reach it from ARGV[2] on. */
  run(script: RedisScript, keys: readonly string[], ...values: string[]): Promise<unknown> {
    const options = { keys: [...keys], arguments: [String(this.#skewMs()), ...values] };
    return this.#connection.use((client) => evaluate(client, script, options));
  }
}

async function evaluate(
  client: RedisClient,
  script: RedisScript,
  options: { keys: string[]; arguments: string[] },
): Promise<unknown> {
  try {
    return await client.evalSha(script.digest, options);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
    return await client.eval(script.source, options);
  }
}
