/** Owns leases in Redis: who works on a name, and until when; knows nothing of the work. */
import { redisScript } from "./redis-script.ts";

/** KEYS: leases. ARGV: name, holder, time to live in ms, holder to replace or nothing. Answers who holds it. */
export const ACQUIRE_LEASE = redisScript(`
local name, holder, ttl, replacing = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local raw = redis.call('HGET', KEYS[1], name)
if raw then
  local held = cjson.decode(raw)
  if clamped(held, 'renewed') then redis.call('HSET', KEYS[1], name, cjson.encode(held)) end
  local is_lapsed = now - tonumber(held.renewed) >= tonumber(held.ttl)
  if held.holder ~= holder and held.holder ~= replacing and not is_lapsed then return held.holder end
elseif redis.call('HLEN', KEYS[1]) >= 200 then
  -- Leases of processes that died unreleased; only met by name otherwise.
  local all = redis.call('HGETALL', KEYS[1])
  for at = 1, #all, 2 do
    local held = cjson.decode(all[at + 1])
    if tonumber(held.renewed) + tonumber(held.ttl) <= now then redis.call('HDEL', KEYS[1], all[at]) end
  end
end
redis.call('HSET', KEYS[1], name, cjson.encode({ holder = holder, renewed = text(now), ttl = ttl }))
return holder
`);

/** KEYS: leases. ARGV: name, holder. */
export const RELEASE_LEASE = redisScript(`
local raw = redis.call('HGET', KEYS[1], ARGV[2])
if raw and cjson.decode(raw).holder == ARGV[3] then redis.call('HDEL', KEYS[1], ARGV[2]) end
`);
