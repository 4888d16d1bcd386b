/** The admission of a create, and what the budget counts. */
import { IN_FLIGHT_AT_MOST_MS, SPEND_BUCKET_MS } from "../horizons.ts";
import { ALIVE, PAUSE_LEFT, SLOTS } from "./limit-scripts.ts";
import { redisScript } from "./redis-script.ts";
import { BUCKETS_A_PART, PUT_ROW, STORED } from "./row-fragments.ts";

/**
 * Credits of the quarters of an hour that end inside the window, or after it, for dates ahead count: whole parts by
 * their sums, the part that the window begins in by its quarters.
 */
const COUNTED = `
local function is_counted(bucket, window_ms)
  return (tonumber(bucket) + 1) * ${SPEND_BUCKET_MS} > wall - window_ms
end
local function counted_credits(spend_key, parts_key, window_ms)
  local first = math.floor((wall - window_ms) / ${SPEND_BUCKET_MS})
  local edge = math.floor(first / ${BUCKETS_A_PART})
  local sum = 0
  local parts = redis.call('HGETALL', parts_key)
  for at = 1, #parts, 2 do
    if tonumber(parts[at]) > edge then sum = sum + tonumber(parts[at + 1]) end
  end
  local buckets = {}
  for bucket = first, (edge + 1) * ${BUCKETS_A_PART} - 1 do buckets[#buckets + 1] = string.format('%d', bucket) end
  for _, credits in ipairs(redis.call('HMGET', spend_key, unpack(buckets))) do
    sum = sum + tonumber(credits or '0')
  end
  return sum
end
`;

/** KEYS: the account's spend, its parts. */
export const SPENT_CREDITS = redisScript(
  COUNTED,
  "return string.format('%.17g', counted_credits(KEYS[1], KEYS[2], q.windowMs))",
);

const IN_FLIGHT = `
local function flight_end(entry)
  local at = tonumber(entry.at)
  if entry.state == 'accepted' then return at + ${IN_FLIGHT_AT_MOST_MS} end
  -- A living process that gave a create up must not hold its place for as long as it lives.
  return math.min(math.max(at, alive_at(alive_key, entry.holder)) + q.lapseMs, at + q.windowMs + q.lapseMs)
end
-- When the places of others are free, soonest first.
local function others_in_flight(id)
  local all = redis.call('HGETALL', flight_key)
  local others = {}
  for at = 1, #all, 2 do
    local entry = cjson.decode(all[at + 1])
    if clamped(entry, 'at') then redis.call('HSET', flight_key, all[at], cjson.encode(entry)) end
    local ends = flight_end(entry)
    if all[at] == id then
      -- Its own place is used again.
    elseif ends > now then others[#others + 1] = ends
    elseif ends <= now - ${IN_FLIGHT_AT_MOST_MS} then redis.call('HDEL', flight_key, all[at]) end
  end
  table.sort(others)
  return others
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
if slot and cjson.decode(slot).pending and old.value == ARGV[4] then return { 'admitted' } end
if is_lost or old.revision ~= q.expectedRevision then
  return { 'conflict', is_lost and 1 or 0, old.value }
end

if q.budget then
  local counted = counted_credits(spend_key, parts_key, q.budget.windowMs)
  local is_own_counted = old.bucket ~= '' and redis.call('HEXISTS', spend_key, old.bucket) == 1
  if is_own_counted and is_counted(old.bucket, q.budget.windowMs) then counted = counted - old.credits end
  if counted + q.row.credits > q.budget.credits then return { 'budget', string.format('%.17g', counted) } end
end

local paused = pause_left(pauses_key, 'creates')
if paused > 0 then return { 'paused', text(paused) } end

local times = slot_times(creates_key, alive_key, q.slotId, q.windowMs)
local oldest = times[q.maxCreates]
if oldest then return { 'rate', text(oldest + q.windowMs - now) } end

local others = others_in_flight(q.row.id)
local first_that_helps = others[#others - q.maxInFlight + 1]
if first_that_helps then return { 'in_flight', text(first_that_helps - now) } end

local missing = undeclared(old)
if missing then return missing end
put_row(q.row, old, true)
take_slot(creates_key, q.slotId, q.windowMs)
-- A lease that has lapsed goes over to whoever sends.
if old.lease then redis.call('HSET', record_key, 'lease', q.holder, 'leaseAt', text(now)) end
return { 'admitted' }
`,
);
