/** Claiming, writing and removing a record, each in one script. */
import { redisScript } from "./redis-script.ts";
import { PUT_ROW, SETTLE_SLOT, STORED } from "./row-fragments.ts";

/** Answers who has the lease, and the record as it is stored now. */
export const CLAIM = redisScript(
  STORED,
  PUT_ROW,
  `
local old = stored_row(record_key)
if not old.value then
  put_row(q.row, old, false)
  old.value = ARGV[4]
end
local holder = living_lease(old)
if holder and holder ~= q.holder and holder ~= q.replacing then return { holder, old.value } end
redis.call('HSET', record_key, 'lease', q.holder, 'leaseAt', text(now), 'leaseTtl', q.leaseTtlMs)
return { q.holder, old.value }
`,
);

/** KEYS: the record. */
export const RELEASE = redisScript(`
if redis.call('HGET', KEYS[1], 'lease') == q.holder then
  redis.call('HDEL', KEYS[1], 'lease', 'leaseAt', 'leaseTtl')
end
`);

/** Answers `{'written'}`, `{'refused', what is stored}` or `{'declare', names…}`. */
export const WRITE = redisScript(
  STORED,
  PUT_ROW,
  SETTLE_SLOT,
  `
if q.settle then settle_slot(creates_key, q.settle.slotId, q.settle.outcome) end
local old = stored_row(record_key)
if old.revision ~= q.expectedRevision then return { 'refused', old.value } end
local missing = undeclared(old)
if missing then return missing end
if q.row then put_row(q.row, old, false)
else remove_row(old, q.id, false) end
if q.row and old.lease == q.holder then
  if q.lease == 'release' then redis.call('HDEL', record_key, 'lease', 'leaseAt', 'leaseTtl')
  else redis.call('HSET', record_key, 'leaseAt', text(now)) end
end
return { 'written' }
`,
);

/** Keyv's way: whatever is stored, unless it is newer. The same answers. */
export const SET_RECORD = redisScript(
  STORED,
  PUT_ROW,
  `
local old = stored_row(record_key)
if not q.row then
  -- Not a record: kept as it is, and found out when it is read. What stood here as one is gone, but for its spend.
  local missing = undeclared(old)
  if missing then return missing end
  remove_row(old, q.id, true)
  redis.call('HSET', record_key, 'value', ARGV[4])
  return { 'written' }
end
if old.revision > q.row.revision then return { 'refused', old.value } end
local missing = undeclared(old)
if missing then return missing end
put_row(q.row, old, false)
return { 'written' }
`,
);

/** Answers `{'written'}`, `{'refused'}` where there was none, or `{'declare', names…}`. */
export const REMOVE = redisScript(
  STORED,
  PUT_ROW,
  `
local old = stored_row(record_key)
if redis.call('EXISTS', record_key) == 0 then return { 'refused', false } end
local missing = undeclared(old)
if missing then return missing end
remove_row(old, q.id, q.keepsSpend)
return { 'written' }
`,
);
