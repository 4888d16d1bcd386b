/** The admission of a create, and what the budget counts. */
import { IN_FLIGHT_AT_MOST_MS } from "../horizons.ts";
import { ALIVE, PAUSE_LEFT, SLOTS } from "./limit-scripts.ts";
import { redisScript } from "./redis-script.ts";
import { BUCKET_MS, PUT_ROW, STORED } from "./row-fragments.ts";

/** Credits of the quarters of an hour that end inside the window, or after it: dates ahead count. */
const COUNTED = `
local function is_counted(bucket, window_ms) return (tonumber(bucket) + 1) * ${BUCKET_MS} > wall - window_ms end
local function counted_credits(spend_key, window_ms)
  local all = redis.call('HGETALL', spend_key)
  local sum = 0
  for at = 1, #all, 2 do
    if is_counted(all[at], window_ms) then sum = sum + tonumber(all[at + 1]) end
  end
  return sum
end
`;

/** KEYS: the account's spend. */
export const SPENT_CREDITS = redisScript(
  COUNTED,
  "return string.format('%.17g', counted_credits(KEYS[1], q.windowMs))",
);

const IN_FLIGHT = `
local function flight_end(entry)
  local at = tonumber(entry.at)
  if entry.state == 'accepted' then return at + ${IN_FLIGHT_AT_MOST_MS} end
  -- A living process that gave a create up must not hold its place for as long as it lives.
  return math.min(math.max(at, alive_at(alive_key, entry.holder)) + q.lapseMs, at + q.windowMs + q.lapseMs)
end
-- How many places others have, and when the first of them is free.
local function others_in_flight(id)
  local all = redis.call('HGETALL', flight_key)
  local others, first_end = 0, nil
  for at = 1, #all, 2 do
    local entry = cjson.decode(all[at + 1])
    if clamped(entry, 'at') then redis.call('HSET', flight_key, all[at], cjson.encode(entry)) end
    local ends = flight_end(entry)
    if all[at] == id then
      -- Its own place is used again.
    elseif ends > now then
      others = others + 1
      first_end = math.min(first_end or ends, ends)
    elseif ends <= now - ${IN_FLIGHT_AT_MOST_MS} then redis.call('HDEL', flight_key, all[at]) end
  end
  return others, first_end
end
`;

/**
 * Answers `{'admitted'}`, `{'conflict', 1 where another has the lease, what is stored}`, `{'budget', counted}`,
 * `{reason, ms to wait}` or `{'declare', names…}`.
 */
export const ADMIT = redisScript(
  STORED,
  PUT_ROW,
  ALIVE,
  PAUSE_LEFT,
  SLOTS,
  COUNTED,
  IN_FLIGHT,
  `
local old = stored_row(record_key)
local holder = living_lease(old)
local is_lost = holder and holder ~= q.holder
local slot = redis.call('HGET', creates_key, q.slotId)
-- Asked again because the answer was lost.
if slot and old.value == ARGV[4] and not is_lost then return { 'admitted' } end
if is_lost or not old.value or old.revision ~= q.expectedRevision then
  return { 'conflict', is_lost and 1 or 0, old.value }
end

if q.budget then
  local counted = counted_credits(spend_key, q.budget.windowMs)
  local is_own_counted = old.bucket ~= '' and redis.call('HEXISTS', spend_key, old.bucket) == 1
  if is_own_counted and is_counted(old.bucket, q.budget.windowMs) then counted = counted - old.credits end
  if counted + q.row.credits > q.budget.credits then return { 'budget', string.format('%.17g', counted) } end
end

local paused = pause_left(pauses_key, 'creates')
if paused > 0 then return { 'paused', text(paused) } end

local times = slot_times(creates_key, alive_key, q.slotId, q.windowMs)
local oldest = times[q.maxCreates]
if oldest then return { 'rate', text(oldest + q.windowMs - now) } end

local others, first_end = others_in_flight(q.row.id)
if others >= q.maxInFlight then return { 'in_flight', text((first_end or now) - now) } end

local missing = undeclared(old)
if missing then return missing end
put_row(q.row, old, true)
take_slot(creates_key, q.slotId, q.windowMs)
if old.lease == q.holder then redis.call('HSET', record_key, 'leaseAt', text(now)) end
return { 'admitted' }
`,
);
