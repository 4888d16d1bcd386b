/** The pieces of script that write a record: its hash and all that follows from it, undone and done in one step. */
import { SPEND_BUCKET_MS } from "../horizons.ts";

/** Lists are for people and for taking work up again: what is beyond is found by its text, its task or its file. */
export const LIST_ROWS = 10_000;
/** How long a budget's sums are kept: longer than its window, so that two clocks may differ. */
const SPEND_KEPT_MS = 49 * 60 * 60 * 1000;
/** Quarters of an hour that have a sum together, so that a window's edge alone is counted quarter by quarter. */
export const BUCKETS_A_PART = 24;
/** As many as are kept, and some that another clock dates. */
const MOST_PARTS = 12;
/** Longer than any place in flight lasts; the key is kept alive by every create. */
const FLIGHT_KEPT_MS = 3 * 60 * 60 * 1000;

/**
 * KEYS 1 to 10 of every script that writes a record; from {@link FIRST_REF} on, names that records are found by.
 * All of them are in one slot of a cluster, and all are declared: some who offer Redis insist.
 */
export const FIRST_REF = 11;

/** The record as it is stored, and its lease. */
export const STORED = `
local record_key, flight_key, spend_key, open_key, unsettled_key, newest_key = unpack(KEYS, 1, 6)
local creates_key, alive_key, pauses_key, parts_key = unpack(KEYS, 7, 10)
local function stored_row(key)
  local f = redis.call('HMGET', key, 'value', 'revision', 'refs', 'flight', 'credits', 'bucket',
    'lease', 'leaseAt', 'leaseTtl', 'task')
  -- -1: no record; -2: something that is none stands in its place.
  return {
    value = f[1], revision = tonumber(f[2] or (f[1] and '-2' or '-1')), task = f[10] or '', refs = cjson.decode(f[3] or '[]'), flight = f[4] or '',
    credits = tonumber(f[5] or '0'), bucket = f[6] or '', lease = f[7], leaseAt = f[8], leaseTtl = f[9] }
end
-- Who has the lease and has not let it lapse.
local function living_lease(row)
  if not row.lease then return nil end
  if clamped(row, 'leaseAt') then redis.call('HSET', record_key, 'leaseAt', row.leaseAt) end
  if now - tonumber(row.leaseAt) >= tonumber(row.leaseTtl) then return nil end
  return row.lease
end
`;

export const PUT_ROW = `
-- Names that the stored record is found by and that this call has not declared: it is to be made again with them.
local function undeclared(old)
  local declared, missing = {}, { 'declare' }
  for at = ${FIRST_REF}, #KEYS do declared[KEYS[at]] = true end
  for _, ref in ipairs(old.refs) do
    if not declared[q.prefix .. ref] then missing[#missing + 1] = ref end
  end
  return missing[2] and missing or nil
end

local function number(credits) return string.format('%.17g', credits) end

local function part_of(bucket) return string.format('%d', math.floor(tonumber(bucket) / ${BUCKETS_A_PART})) end

local function change_sum(key, field, credits)
  local sum = tonumber(redis.call('HGET', key, field) or '0') + credits
  if sum > 1e-6 then redis.call('HSET', key, field, number(sum))
  else redis.call('HDEL', key, field) end
end

local function take_spend(bucket, credits)
  local sum = bucket ~= '' and redis.call('HGET', spend_key, bucket)
  -- A sum that is gone was too old to count.
  if not sum then return end
  local taken = math.min(credits, tonumber(sum))
  change_sum(spend_key, bucket, -taken)
  change_sum(parts_key, part_of(bucket), -taken)
end

local function forget_old_spend()
  if redis.call('HLEN', parts_key) <= ${MOST_PARTS} then return end
  for _, part in ipairs(redis.call('HKEYS', parts_key)) do
    local first = tonumber(part) * ${BUCKETS_A_PART}
    if (first + ${BUCKETS_A_PART}) * ${SPEND_BUCKET_MS} <= wall - ${SPEND_KEPT_MS} then
      redis.call('HDEL', parts_key, part)
      for bucket = first, first + ${BUCKETS_A_PART - 1} do
        redis.call('HDEL', spend_key, string.format('%d', bucket))
      end
    end
  end
end

local function add_spend(bucket, credits)
  if bucket == '' or credits == 0 then return end
  change_sum(spend_key, bucket, credits)
  change_sum(parts_key, part_of(bucket), credits)
  redis.call('PEXPIRE', spend_key, ${SPEND_KEPT_MS})
  redis.call('PEXPIRE', parts_key, ${SPEND_KEPT_MS})
  forget_old_spend()
end

local function put_list(key, is_in, row)
  if not is_in then return redis.call('ZREM', key, row.id) end
  redis.call('ZADD', key, row.created, row.id)
  redis.call('ZREMRANGEBYRANK', key, 0, -${LIST_ROWS + 1})
end

local function put_flight(row, old, is_new_send)
  if row.flight == '' then return redis.call('HDEL', flight_key, row.id) end
  if row.flight == old.flight and not is_new_send then return end
  redis.call('HSET', flight_key, row.id, cjson.encode({
    state = row.flight, at = text(now), holder = q.holder }))
  redis.call('PEXPIRE', flight_key, ${FLIGHT_KEPT_MS})
end

local function put_row(row, old, is_new_send)
  take_spend(old.bucket, old.credits)
  add_spend(row.bucket, row.credits)
  put_flight(row, old, is_new_send)
  local is_kept = {}
  for _, ref in ipairs(row.refs) do
    is_kept[ref] = true
    redis.call('HSET', q.prefix .. ref, row.id, '')
  end
  for _, ref in ipairs(old.refs) do
    if not is_kept[ref] then redis.call('HDEL', q.prefix .. ref, row.id) end
  end
  put_list(open_key, row.isOpen, row)
  put_list(unsettled_key, row.isUnsettled, row)
  put_list(newest_key, row.isListed, row)
  redis.call('HSET', record_key, 'value', ARGV[4], 'revision', row.revision, 'status', row.status,
    'task', row.task, 'created', row.created, 'refs', #row.refs > 0 and cjson.encode(row.refs) or '[]', 'flight', row.flight,
    'listed', row.isListed and '1' or '0', 'credits', number(row.credits), 'bucket', row.bucket)
end

-- What was spent may stay: a record that cannot be read any more was paid for all the same.
local function remove_row(old, id, keeps_spend)
  if not keeps_spend then take_spend(old.bucket, old.credits) end
  redis.call('HDEL', flight_key, id)
  for _, ref in ipairs(old.refs) do redis.call('HDEL', q.prefix .. ref, id) end
  for _, key in ipairs({ open_key, unsettled_key, newest_key }) do redis.call('ZREM', key, id) end
  redis.call('DEL', record_key)
end
`;

/** A slot whose request has ended; one that is gone, or was settled before, is left as it is. */
export const SETTLE_SLOT = `
local function settle_slot(slots_key, slot_id, outcome)
  local raw = redis.call('HGET', slots_key, slot_id)
  local slot = raw and cjson.decode(raw)
  if not slot or not slot.pending then return end
  if outcome == 'unsent' then return redis.call('HDEL', slots_key, slot_id) end
  slot.pending, slot.seen = false, text(now)
  redis.call('HSET', slots_key, slot_id, cjson.encode(slot))
end
`;
