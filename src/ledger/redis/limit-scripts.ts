/** Read slots, pauses and signs of life, and the pieces of script that creates need of them. */
import { IN_FLIGHT_AT_MOST_MS, SLOT_KEPT_MS } from "../horizons.ts";
import { redisScript } from "./redis-script.ts";
import { SETTLE_SLOT } from "./row-fragments.ts";

/** Who was silent for so long has nothing pending any more. */
const ALIVE_KEPT_MS = IN_FLIGHT_AT_MOST_MS + SLOT_KEPT_MS;

/** When a holder last gave a sign of life; 0 for never. */
export const ALIVE = `
local function alive_at(alive_key, holder)
  local score = redis.call('ZSCORE', alive_key, holder)
  if not score then return 0 end
  if tonumber(score) <= now then return tonumber(score) end
  redis.call('ZADD', alive_key, text(now), holder)
  return now
end
`;

/** Milliseconds that a class is still paused. */
export const PAUSE_LEFT = `
local function pause_left(pauses_key, class)
  local raw = redis.call('HGET', pauses_key, class)
  if not raw then return 0 end
  local entry = cjson.decode(raw)
  if clamped(entry, 'set') then redis.call('HSET', pauses_key, class, cjson.encode(entry)) end
  return math.max(0, tonumber(entry.set) + tonumber(entry.length) - now)
end
`;

/**
 * The times from which the slots of a hash count, newest first, but for the caller's own; what counts no more is
 * forgotten.
 */
export const SLOTS = `
local function slot_times(slots_key, alive_key, own_id, window_ms)
  local all = redis.call('HGETALL', slots_key)
  local times = {}
  for at = 1, #all, 2 do
    local slot = cjson.decode(all[at + 1])
    if clamped(slot, 'seen') then redis.call('HSET', slots_key, all[at], cjson.encode(slot)) end
    local seen = tonumber(slot.seen)
    if slot.pending then seen = math.max(seen, alive_at(alive_key, slot.holder)) end
    if seen <= now - window_ms then redis.call('HDEL', slots_key, all[at])
    elseif all[at] ~= own_id then times[#times + 1] = seen end
  end
  table.sort(times, function(a, b) return a > b end)
  return times
end
-- An admission that is repeated keeps the slot that it has.
local function take_slot(slots_key, slot_id, window_ms)
  redis.call('HSETNX', slots_key, slot_id, cjson.encode({ holder = q.holder, pending = true, seen = text(now) }))
  redis.call('PEXPIRE', slots_key, string.format('%d', window_ms + ${ALIVE_KEPT_MS}))
end
`;

/** KEYS: the account's read slots, alive, pauses. Answers the verdict and a number. */
export const ADMIT_READ = redisScript(
  ALIVE,
  PAUSE_LEFT,
  SLOTS,
  `
local slots_key, alive_key, pauses_key = unpack(KEYS)
local paused = pause_left(pauses_key, 'reads')
if paused > 0 then return { 'paused', text(paused) } end
local times = slot_times(slots_key, alive_key, q.slotId, q.windowMs)
local oldest = times[q.maxReads]
if oldest then return { 'rate', text(oldest + q.windowMs - now) } end
if q.maxReads < 1 then return { 'rate', text(q.windowMs) } end
take_slot(slots_key, q.slotId, q.windowMs)
return { 'admitted', tostring(#times + 1) }
`,
);

/** KEYS: the account's slots of the class. */
export const SETTLE = redisScript(SETTLE_SLOT, "settle_slot(KEYS[1], q.slotId, q.outcome)");

/** KEYS: pauses. */
export const PAUSE = redisScript(
  PAUSE_LEFT,
  `
if pause_left(KEYS[1], q.class) >= q.ms then return end
redis.call('HSET', KEYS[1], q.class, cjson.encode({ set = text(now), length = text(q.ms) }))
redis.call('PEXPIRE', KEYS[1], string.format('%d', math.max(q.ms, redis.call('PTTL', KEYS[1]))))
`,
);

/** KEYS: alive, then the records whose leases are renewed. Answers the places of those that are lost. */
export const SIGN_OF_LIFE = redisScript(`
redis.call('ZADD', KEYS[1], text(now), q.holder)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(now - ${ALIVE_KEPT_MS}))
redis.call('PEXPIRE', KEYS[1], ${ALIVE_KEPT_MS})
local lost = {}
for at = 2, #KEYS do
  if redis.call('HGET', KEYS[at], 'lease') == q.holder then redis.call('HSET', KEYS[at], 'leaseAt', text(now))
  else lost[#lost + 1] = at - 2 end
end
return lost
`);
