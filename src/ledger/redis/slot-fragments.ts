/** Owns the pieces of script that creates and reads share: who is alive, what is paused, which slots still count; runs nothing. */

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
local function pause_left(pauses_key, field)
  local raw = redis.call('HGET', pauses_key, field)
  if not raw then return 0 end
  local entry = cjson.decode(raw)
  if clamped(entry, 'set') then redis.call('HSET', pauses_key, field, cjson.encode(entry)) end
  return math.max(0, tonumber(entry.set) + tonumber(entry.length) - now)
end
`;

/** The times at which the slots of a hash were last seen, newest first; what is older than keep_ms is forgotten. */
export const SEEN_TIMES = `
local function seen_times(slots_key, alive_key, window_ms, keep_ms)
  local all = redis.call('HGETALL', slots_key)
  local times = {}
  for at = 1, #all, 2 do
    local slot = cjson.decode(all[at + 1])
    if clamped(slot, 'seen') then redis.call('HSET', slots_key, all[at], cjson.encode(slot)) end
    local seen = tonumber(slot.seen)
    if slot.pending then seen = math.max(seen, alive_at(alive_key, slot.holder)) end
    if seen > now - window_ms then times[#times + 1] = seen
    elseif seen <= now - window_ms - keep_ms then redis.call('HDEL', slots_key, all[at]) end
  end
  table.sort(times, function(a, b) return a > b end)
  return times
end
`;
