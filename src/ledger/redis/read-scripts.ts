/** Owns read slots, pauses and signs of life in Redis, as scripts; the same rules as the tables of the SQLite side. */
import { redisScript } from "./redis-script.ts";
import { ALIVE, PAUSE_LEFT, SEEN_TIMES } from "./slot-fragments.ts";

/** KEYS: the account's read slots, alive, pauses. ARGV: slot id, holder, most reads, window in ms, pause field. */
export const ADMIT_READ = redisScript(
  ALIVE,
  PAUSE_LEFT,
  SEEN_TIMES,
  `
local slots_key, alive_key, pauses_key = unpack(KEYS)
local slot_id, holder, most, window_ms, field = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local paused = pause_left(pauses_key, field)
if paused > 0 then return { 'paused', text(paused) } end
local times = seen_times(slots_key, alive_key, window_ms, 0)
if times[most] then return { 'rate', text(times[most] + window_ms - now) } end
redis.call('HSET', slots_key, slot_id, cjson.encode({ holder = holder, pending = true, seen = text(now) }))
return { 'admitted', text(#times + 1) }
`,
);

/** KEYS: the account's read slots. ARGV: slot id. */
export const SETTLE_READ = redisScript(`
local raw = redis.call('HGET', KEYS[1], ARGV[2])
if not raw then return end
local slot = cjson.decode(raw)
if not slot.pending then return end
slot.pending, slot.seen = false, text(now)
redis.call('HSET', KEYS[1], ARGV[2], cjson.encode(slot))
`);

/** KEYS: pauses. ARGV: field, length in ms. */
export const PAUSE = redisScript(
  PAUSE_LEFT,
  `
if pause_left(KEYS[1], ARGV[2]) >= tonumber(ARGV[3]) then return end
redis.call('HSET', KEYS[1], ARGV[2], cjson.encode({ set = text(now), length = ARGV[3] }))
`,
);

/** KEYS: alive. ARGV: holder, ms after which a silent holder is forgotten. */
export const HEARTBEAT = redisScript(`
redis.call('ZADD', KEYS[1], text(now), ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(now - tonumber(ARGV[3])))
`);
