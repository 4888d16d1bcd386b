/** Remembering which accounts a machine uses, and picking records out of a list. */
import { redisScript } from "./redis-script.ts";

const MOST_ACCOUNTS = 10;
const REMEMBERED_MS = 90 * 24 * 60 * 60 * 1000;

/** KEYS: the machine's accounts. Answers all of them, the one that asks first. */
export const REMEMBER = redisScript(`
redis.call('ZADD', KEYS[1], text(now), q.accountId)
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -${MOST_ACCOUNTS + 1})
redis.call('PEXPIRE', KEYS[1], '${REMEMBERED_MS}')
return redis.call('ZREVRANGE', KEYS[1], 0, -1)
`);

/** KEYS: records. Answers place and value of those that are there and are what is asked for, at most `limit`. */
export const PICK = redisScript(`
local found = {}
for at = 1, #KEYS do
  if #found >= 2 * q.limit then break end
  local seen = redis.call('HMGET', KEYS[at], 'status', 'listed', 'value')
  local is_asked = not q.status or seen[1] == q.status
  if is_asked and not (q.listedOnly and seen[2] == '0') then
    local value = seen[3]
    if value then
      found[#found + 1] = at - 1
      found[#found + 1] = value
    end
  end
end
return found
`);
