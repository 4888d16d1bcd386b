/** Owns the index of records in Redis: finding and ordering them; never reads a record. */
import { z } from "zod";
import type { IndexEntry, IndexQuery } from "../coordinator.ts";
import { RECORD_STATUSES } from "../record.ts";
import {
  CREATED_KEY,
  INDEX_KEY,
  openKey,
  orderKey,
  pathKey,
  statusKeys,
  taskKey,
  workKey,
} from "./redis-keys.ts";
import { redisScript, type ScriptRunner } from "./redis-script.ts";

const PUT = redisScript(`
local id, entry, is_open, status_at, has_task = ARGV[2], ARGV[3], ARGV[5], tonumber(ARGV[6]), ARGV[7]
redis.call('HSETNX', KEYS[2], id, ARGV[4])
local created = redis.call('HGET', KEYS[2], id)
redis.call('HSET', KEYS[1], id, entry)
redis.call('ZADD', KEYS[3], created, id)
if is_open == '1' then redis.call('ZADD', KEYS[4], created, id) else redis.call('ZREM', KEYS[4], id) end
redis.call('SADD', KEYS[5], id)
if has_task == '1' then redis.call('SADD', KEYS[6], id) end
for at = 7, #KEYS do
  if at - 7 == status_at then redis.call('ZADD', KEYS[at], created, id) else redis.call('ZREM', KEYS[at], id) end
end
`);

/** Removes only the very entry whose keys the caller worked out; answers 0 where it has changed meanwhile. */
const REMOVE = redisScript(`
local id = ARGV[2]
if redis.call('HGET', KEYS[1], id) ~= ARGV[3] then return 0 end
redis.call('HDEL', KEYS[1], id)
redis.call('HDEL', KEYS[2], id)
redis.call('SREM', KEYS[5], id)
redis.call('SREM', KEYS[6], id)
redis.call('ZREM', KEYS[3], id)
redis.call('ZREM', KEYS[4], id)
for at = 7, #KEYS do redis.call('ZREM', KEYS[at], id) end
return 1
`);

const ENTRIES_OF = `
local function entries_of(ids)
  if #ids == 0 then return {} end
  local entries = redis.call('HMGET', KEYS[1], unpack(ids))
  local created = redis.call('HMGET', KEYS[2], unpack(ids))
  local found = {}
  for at = 1, #ids do
    if entries[at] and created[at] then found[#found + 1] = { entries[at], created[at] } end
  end
  return found
end
`;
const NEWEST = redisScript(
  ENTRIES_OF,
  "return entries_of(redis.call('ZREVRANGE', KEYS[3], tonumber(ARGV[2]), tonumber(ARGV[3])))",
);
const MEMBERS = redisScript(ENTRIES_OF, "return entries_of(redis.call('SMEMBERS', KEYS[3]))");
const GET = redisScript("return redis.call('HGET', KEYS[1], ARGV[2])");
const ADD_PATH = redisScript("return redis.call('SADD', KEYS[1], ARGV[2])");
const PATH_MEMBERS = redisScript("return redis.call('SMEMBERS', KEYS[1])");

const entrySchema = z.object({
  recordId: z.string(),
  workId: z.string(),
  origin: z.string(),
  taskId: z.string().nullable(),
  status: z.enum(RECORD_STATUSES),
  isOpen: z.boolean(),
});
const foundSchema = z.array(z.tuple([z.string(), z.coerce.number()]));
const idsSchema = z.array(z.string());

function parseEntries(answer: unknown): IndexEntry[] {
  return foundSchema
    .parse(answer)
    .map(([text, createdAtMs]) => ({ ...entrySchema.parse(JSON.parse(text)), createdAtMs }));
}

/** Rows fetched at a time where some are then filtered out. */
const PAGE_ROWS = 100;

export class RedisIndex {
  readonly #scripts: ScriptRunner;

  constructor(scripts: ScriptRunner) {
    this.#scripts = scripts;
  }

  async put(entry: IndexEntry): Promise<void> {
    const { createdAtMs, ...rest } = entry;
    await this.#scripts.run(
      PUT,
      keysOf(entry),
      entry.recordId,
      JSON.stringify(rest),
      String(createdAtMs),
      entry.isOpen ? "1" : "0",
      String(RECORD_STATUSES.indexOf(entry.status)),
      entry.taskId === null ? "0" : "1",
    );
  }

  async remove(recordId: string): Promise<void> {
    for (;;) {
      const text = z
        .string()
        .nullable()
        .parse(await this.#scripts.run(GET, [INDEX_KEY], recordId));
      if (text === null) return;
      const keys = keysOf(entrySchema.parse(JSON.parse(text)));
      if ((await this.#scripts.run(REMOVE, keys, recordId, text)) === 1) return;
    }
  }

  async list(query: IndexQuery): Promise<IndexEntry[]> {
    const { origin, statuses, openOnly, limit } = query;
    if (openOnly === true) return this.#listOpen(query);
    if (statuses === undefined) return this.#newest(orderKey(origin), 0, limit);
    const keys = statusKeys(origin).filter((_, at) =>
      statuses.some((status) => status === RECORD_STATUSES[at]),
    );
    const lists = await Promise.all(keys.map((key) => this.#newest(key, 0, limit)));
    return lists.flat().sort(newestFirst).slice(0, limit);
  }

  async ofWork(workId: string): Promise<string[]> {
    return (await this.#members(workKey(workId))).map((entry) => entry.recordId);
  }

  async ofTask(origin: string, taskId: string): Promise<string[]> {
    const entries = await this.#members(taskKey(origin, taskId));
    return entries.filter((entry) => entry.taskId === taskId).map((entry) => entry.recordId);
  }

  async putPath(place: string, path: string, recordId: string): Promise<void> {
    await this.#scripts.run(ADD_PATH, [pathKey(place, path)], recordId);
  }

  async ofPath(place: string, path: string): Promise<string[]> {
    return idsSchema.parse(await this.#scripts.run(PATH_MEMBERS, [pathKey(place, path)])).sort();
  }

  /** Open entries are few: they are walked from the newest until enough have the status. */
  async #listOpen({ origin, statuses, limit }: IndexQuery): Promise<IndexEntry[]> {
    const found: IndexEntry[] = [];
    for (let from = 0; found.length < limit; from += PAGE_ROWS) {
      const page = await this.#newest(openKey(origin), from, PAGE_ROWS);
      found.push(...page.filter((entry) => statuses?.includes(entry.status) ?? true));
      if (page.length < PAGE_ROWS) break;
    }
    return found.slice(0, limit);
  }

  async #newest(key: string, from: number, count: number): Promise<IndexEntry[]> {
    if (count <= 0) return [];
    const range = [String(from), String(from + count - 1)];
    return parseEntries(await this.#scripts.run(NEWEST, [INDEX_KEY, CREATED_KEY, key], ...range));
  }

  async #members(key: string): Promise<IndexEntry[]> {
    const entries = parseEntries(await this.#scripts.run(MEMBERS, [INDEX_KEY, CREATED_KEY, key]));
    return entries.sort(newestFirst).reverse();
  }
}

function keysOf(entry: Pick<IndexEntry, "origin" | "workId" | "taskId">): string[] {
  const { origin, workId, taskId } = entry;
  return [
    INDEX_KEY,
    CREATED_KEY,
    orderKey(origin),
    openKey(origin),
    workKey(workId),
    // Without a task id the place is taken by a key that nothing is put into.
    taskKey(origin, taskId ?? ""),
    ...statusKeys(origin),
  ];
}

function newestFirst(a: IndexEntry, b: IndexEntry): number {
  if (a.createdAtMs !== b.createdAtMs) return b.createdAtMs - a.createdAtMs;
  return a.recordId < b.recordId ? 1 : -1;
}
