/** Runs Lua scripts: by their digest, or whole where the server does not have them. */
import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import { isMissingScript } from "./redis-faults.ts";
import type { RedisLink } from "./redis-link.ts";

export interface RedisScript {
  readonly source: string;
  readonly digest: string;
}

/**
 * Every script reads the server's clock into `now`, in milliseconds since 1970, moved by ARGV[1]; the caller's wall
 * clock into `wall`, for the budget alone; and its question into `q`. JSON's null would be a value in Lua, so a
 * question leaves out what there is not. Times are kept as text, for Lua's JSON and numbers lose digits.
 */
const PRELUDE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000 + tonumber(ARGV[1])
local wall = tonumber(ARGV[2])
local q = cjson.decode(ARGV[3])
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

export interface Question {
  /** All of one account, or of one machine: a cluster has them in one slot. */
  readonly keys: readonly [string, ...string[]];
  readonly q: object;
  /** ARGV[4]: a record's value, which may be large and is not decoded there. */
  readonly value?: string;
}

export class Scripts {
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #skewMs: () => number;

  /** @param skewMs moves the scripts' clock: tests let time pass by it */
  constructor(clock: Pick<Clock, "wallMs">, skewMs: () => number) {
    this.#clock = clock;
    this.#skewMs = skewMs;
  }

  /** The script's answer, not parsed. */
  async run(link: RedisLink, script: RedisScript, { keys, q, value = "" }: Question): Promise<unknown> {
    const [first] = keys;
    const times = [String(this.#skewMs()), String(this.#clock.wallMs())];
    const rest = [String(keys.length), ...keys, ...times, JSON.stringify(q), value];
    try {
      return await link.send(first, ["EVALSHA", script.digest, ...rest]);
    } catch (error) {
      if (!isMissingScript(error)) throw error;
      return await link.send(first, ["EVAL", script.source, ...rest]);
    }
  }
}
