/** Owns create slots, tasks in flight and the budget in Redis, as scripts; the same rules as the tables of the SQLite side. */
import { redisScript } from "./redis-script.ts";
import { ALIVE, PAUSE_LEFT, SEEN_TIMES } from "./slot-fragments.ts";

/** Credits of the origin inside the window, but for one attempt. Dates ahead count. */
const COUNTED_CREDITS = `
local function counted_credits(spend_key, order_key, origin, but_for, window_ms)
  local counted = 0
  local fields = redis.call('ZRANGEBYSCORE', order_key, '(' .. text(now - window_ms), '+inf')
  for from = 1, #fields, 500 do
    local rows = redis.call('HMGET', spend_key, unpack(fields, from, math.min(from + 499, #fields)))
    for at, raw in ipairs(rows) do
      if raw and fields[from + at - 1] ~= but_for then
        local row = cjson.decode(raw)
        if row.origin == origin then counted = counted + row.counted end
      end
    end
  end
  return counted
end
`;

/** KEYS: spend, spend order. ARGV: origin, attempt to leave out, window in ms. */
export const COUNT_CREDITS = redisScript(
  COUNTED_CREDITS,
  "return tostring(counted_credits(KEYS[1], KEYS[2], ARGV[2], ARGV[3], tonumber(ARGV[4])))",
);

const HOLD_IN_FLIGHT = `
local function hold_in_flight(in_flight_key, spend_key, slot, account)
  local raw = redis.call('HGET', spend_key, slot.field)
  if raw and not cjson.decode(raw).open then return end
  redis.call('HSET', in_flight_key, slot.field, cjson.encode({
    record = slot.record, attempt = slot.attempt, account = account, holder = '', state = 'accepted',
    seen = text(now), attempted = text(now) }))
end
`;

/**
 * KEYS: the account's create slots, in flight, spend, spend order, alive, pauses. ARGV: the request as JSON.
 * Answers `{'admitted'}`, `{'budget', counted}` or `{reason, ms to wait}`.
 */
export const ADMIT_CREATE = redisScript(
  COUNTED_CREDITS,
  ALIVE,
  PAUSE_LEFT,
  SEEN_TIMES,
  `
local slots_key, in_flight_key, spend_key, order_key, alive_key, pauses_key = unpack(KEYS)
local q = cjson.decode(ARGV[2])

if q.budget then
  local counted = counted_credits(spend_key, order_key, q.origin, q.field, q.budget.windowMs)
  if counted + q.credits > q.budget.credits then return { 'budget', tostring(counted) } end
end

local paused = pause_left(pauses_key, q.pauseField)
if paused > 0 then return { 'paused', text(paused) } end

local times = seen_times(slots_key, alive_key, q.windowMs, q.keepMs)
if times[q.maxCreates] then return { 'rate', text(times[q.maxCreates] + q.windowMs - now) } end

local all = redis.call('HGETALL', in_flight_key)
local others, next_end = 0, nil
local stale = {}
for at = 1, #all, 2 do
  local held = cjson.decode(all[at + 1])
  if held.account == q.accountId then
    local is_late = clamped(held, 'seen')
    if clamped(held, 'attempted') or is_late then
      redis.call('HSET', in_flight_key, all[at], cjson.encode(held))
    end
    local attempted = tonumber(held.attempted)
    local ends = attempted + q.inFlightAtMostMs
    if held.state ~= 'accepted' then
      ends = math.max(tonumber(held.seen), alive_at(alive_key, held.holder)) + q.lapseMs
      -- A living process that gave an attempt up must not hold its slot for as long as it lives.
      if held.state == 'unanswered' then ends = math.min(ends, attempted + q.windowMs + q.lapseMs) end
    end
    if held.record == q.recordId then
      -- An attempt grows only when the service said that the earlier one's task has failed.
      if held.attempt < q.attempt then stale[#stale + 1] = all[at] end
    elseif ends > now then
      others = others + 1
      next_end = math.min(next_end or ends, ends)
    elseif ends <= now - q.inFlightAtMostMs then
      stale[#stale + 1] = all[at]
    end
  end
end
if others >= q.maxInFlight then return { 'in_flight', text(next_end - now) } end
for _, field in ipairs(stale) do redis.call('HDEL', in_flight_key, field) end

local own = redis.call('HGET', in_flight_key, q.field)
local prior = nil
if own then
  local held = cjson.decode(own)
  if held.state == 'pending' then prior = held.prior or 'unanswered' else prior = held.state end
end
redis.call('HSET', in_flight_key, q.field, cjson.encode({
  record = q.recordId, attempt = q.attempt, account = q.accountId, holder = q.holder, state = 'pending',
  prior = prior, seen = text(now), attempted = text(now) }))

local raw_spend = redis.call('HGET', spend_key, q.field)
local spend = raw_spend and cjson.decode(raw_spend) or {}
spend.origin, spend.counted, spend.open = q.origin, q.credits, true
redis.call('HSET', spend_key, q.field, cjson.encode(spend))
redis.call('ZADD', order_key, text(now), q.field)

redis.call('HSET', slots_key, q.slotId, cjson.encode({
  record = q.recordId, attempt = q.attempt, field = q.field, holder = q.holder, pending = true,
  seen = text(now) }))
return { 'admitted' }
`,
);

/** KEYS: the account's create slots, in flight, spend, spend order. ARGV: slot id, outcome, account. */
export const SETTLE_CREATE = redisScript(
  HOLD_IN_FLIGHT,
  `
local slots_key, in_flight_key, spend_key, order_key = unpack(KEYS)
local slot_id, outcome, account = ARGV[2], ARGV[3], ARGV[4]
local raw = redis.call('HGET', slots_key, slot_id)
if not raw then return end
local slot = cjson.decode(raw)
if not slot.pending then return end
slot.pending = false
slot.seen = text(now)
if outcome == 'unsent' then redis.call('HDEL', slots_key, slot_id)
else redis.call('HSET', slots_key, slot_id, cjson.encode(slot)) end

if outcome == 'accepted' then return hold_in_flight(in_flight_key, spend_key, slot, account) end
local raw_held = redis.call('HGET', in_flight_key, slot.field)
if not raw_held then return end
local held = cjson.decode(raw_held)
if held.state ~= 'pending' then return end
local state = held.prior
if not state and outcome == 'unanswered' then state = 'unanswered' end
if state then
  held.state, held.prior, held.seen, held.attempted = state, nil, text(now), text(now)
  redis.call('HSET', in_flight_key, slot.field, cjson.encode(held))
  return
end
redis.call('HDEL', in_flight_key, slot.field)
local raw_spend = redis.call('HGET', spend_key, slot.field)
if not raw_spend then return end
local spend = cjson.decode(raw_spend)
if spend.charged then
  spend.counted, spend.open = spend.charged, false
  redis.call('HSET', spend_key, slot.field, cjson.encode(spend))
else
  redis.call('HDEL', spend_key, slot.field)
  redis.call('ZREM', order_key, slot.field)
end
`,
);

/** KEYS: in flight, spend, spend order. ARGV: attempt, credits charged, ms that a charge may follow at most. */
export const END_TASK = redisScript(`
local in_flight_key, spend_key, order_key = unpack(KEYS)
local field, credits, at_most = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('HDEL', in_flight_key, field)
local raw = redis.call('HGET', spend_key, field)
if not raw then return end
local spend = cjson.decode(raw)
if not spend.open then return end
spend.counted, spend.charged, spend.open = credits, credits, false
redis.call('HSET', spend_key, field, cjson.encode(spend))
local at = tonumber(redis.call('ZSCORE', order_key, field) or now)
redis.call('ZADD', order_key, text(math.max(at, math.min(now, at + at_most))), field)
`);

/** KEYS: in flight, spend, spend order. ARGV: JSON of field, record, attempt, account, origin, credits. */
export const NOTE_IN_FLIGHT = redisScript(
  HOLD_IN_FLIGHT,
  `
local in_flight_key, spend_key, order_key = unpack(KEYS)
local q = cjson.decode(ARGV[2])
hold_in_flight(in_flight_key, spend_key, q, q.account)
if redis.call('HEXISTS', spend_key, q.field) == 1 then return end
redis.call('HSET', spend_key, q.field, cjson.encode({ origin = q.origin, counted = q.credits, open = true }))
redis.call('ZADD', order_key, text(now), q.field)
`,
);
