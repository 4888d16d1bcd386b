/** Narrations in Redis: each a hash of its state and its lease, beside a plan that never changes. */
import { z } from "zod";
import type { HolderId } from "../../holder.ts";
import type { AccountId } from "../identity.ts";
import type { NarrationClaim, NarrationStore, NewNarration, StoredNarration } from "../narration-store.ts";
import { accountKeys, narrationKey, narrationPlanKey } from "./redis-keys.ts";
import type { RedisLink } from "./redis-link.ts";
import { redisScript, type Scripts } from "./redis-script.ts";
import { LIST_ROWS } from "./row-fragments.ts";

/** KEYS: the narration, its plan, the account's list. ARGV[4]: the plan. */
const BEGIN = redisScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then return end
redis.call('SET', KEYS[2], ARGV[4])
redis.call('HSET', KEYS[1], 'state', q.state, 'revision', 1)
redis.call('ZADD', KEYS[3], q.created, q.id)
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -${LIST_ROWS + 1})
`);

const LIVING = `
local function living(key)
  local lease = redis.call('HMGET', key, 'lease', 'leaseAt', 'leaseTtl')
  if not lease[1] then return nil end
  -- One that lies ahead was written before the clock was set back: its holder renews it, if it lives.
  local age = now - tonumber(lease[2])
  if age < 0 or age >= tonumber(lease[3]) then return nil end
  return lease[1]
end
`;

/** KEYS: narrations. Answers, for each that is there: its place among them, revision, state, and its holder or ''. */
const READ = redisScript(
  LIVING,
  `
local found = {}
for at = 1, #KEYS do
  local told = redis.call('HMGET', KEYS[at], 'revision', 'state')
  if told[1] then found[#found + 1] = { at - 1, tonumber(told[1]), told[2], living(KEYS[at]) or '' } end
end
return found
`,
);

/** KEYS: the narration. ARGV[4]: the state. */
const WRITE = redisScript(`
if redis.call('HGET', KEYS[1], 'revision') ~= tostring(q.expected) then return 0 end
redis.call('HSET', KEYS[1], 'state', ARGV[4], 'revision', q.expected + 1)
return 1
`);

/** KEYS: the narration. Answers who has the lease now; nothing where there is no narration. */
const LEAD = redisScript(
  LIVING,
  `
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
local holder = living(KEYS[1])
if holder and holder ~= q.holder and holder ~= q.replacing then return holder end
redis.call('HSET', KEYS[1], 'lease', q.holder, 'leaseAt', text(now), 'leaseTtl', q.leaseTtlMs)
return q.holder
`,
);

/** KEYS: the narration. */
const RELEASE = redisScript(`
if redis.call('HGET', KEYS[1], 'lease') == q.holder then
  redis.call('HDEL', KEYS[1], 'lease', 'leaseAt', 'leaseTtl')
end
`);

const readAnswer = z.array(z.tuple([z.int(), z.int(), z.string(), z.string()]));
const nullableText = z.string().nullable();

export interface RedisNarrationsOptions {
  readonly use: <T>(work: (link: RedisLink) => Promise<T>) => Promise<T>;
  readonly scripts: Scripts;
  readonly accountId: AccountId;
  readonly holder: HolderId;
}

export class RedisNarrations implements NarrationStore {
  readonly #options: RedisNarrationsOptions;

  constructor(options: RedisNarrationsOptions) {
    this.#options = options;
  }

  async begin({ narrationId: id, plan, state, createdAtMs: created }: NewNarration): Promise<void> {
    const { use, scripts, accountId } = this.#options;
    const { narrations } = accountKeys(accountId);
    const keys = [narrationKey(accountId, id), narrationPlanKey(accountId, id), narrations] as const;
    await use((link) => scripts.run(link, BEGIN, { keys, q: { id, state, created }, value: plan }));
  }

  async plan(narrationId: string): Promise<string | undefined> {
    const { use, accountId } = this.#options;
    const key = narrationPlanKey(accountId, narrationId);
    return nullableText.parse(await use((link) => link.send(key, ["GET", key]))) ?? undefined;
  }

  async read(narrationId: string): Promise<StoredNarration | undefined> {
    return (await this.#readAll([narrationId]))[0];
  }

  async write(narrationId: string, expectedRevision: number, state: string): Promise<boolean> {
    const question = { q: { expected: expectedRevision }, value: state };
    return (await this.#run(WRITE, narrationId, question)) === 1;
  }

  async lead({ narrationId, ...claim }: NarrationClaim): Promise<HolderId | null> {
    const q = { ...claim, holder: this.#options.holder };
    return nullableText.parse(await this.#run(LEAD, narrationId, { q }));
  }

  async release(narrationId: string): Promise<void> {
    await this.#run(RELEASE, narrationId, { q: { holder: this.#options.holder } });
  }

  async newest(limit: number): Promise<StoredNarration[]> {
    const { use, accountId } = this.#options;
    const key = accountKeys(accountId).narrations;
    const ids = await use((link) => link.send(key, ["ZREVRANGE", key, "0", String(limit - 1)]));
    return await this.#readAll(z.array(z.string()).parse(ids));
  }

  async #readAll(ids: readonly string[]): Promise<StoredNarration[]> {
    const { use, scripts, accountId } = this.#options;
    const [first, ...rest] = ids.map((id) => narrationKey(accountId, id));
    if (first === undefined) return [];
    const answer = await use((link) => scripts.run(link, READ, { keys: [first, ...rest], q: {} }));
    return readAnswer.parse(answer).flatMap(([at, revision, state, holder]) => {
      const narrationId = ids[at];
      if (narrationId === undefined) return [];
      return [{ narrationId, revision, state, holder: holder === "" ? null : holder }];
    });
  }

  #run(
    script: typeof WRITE,
    narrationId: string,
    question: { readonly q: object; readonly value?: string },
  ): Promise<unknown> {
    const { use, scripts, accountId } = this.#options;
    const keys = [narrationKey(accountId, narrationId)] as const;
    return use((link) => scripts.run(link, script, { keys, ...question }));
  }
}
