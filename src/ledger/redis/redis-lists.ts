/** Finds records in Redis: by list, work, task and file, in this account and in the machine's others. */
import { z } from "zod";
import type { AccountId } from "../identity.ts";
import type { ListQuery, StoredValue } from "../ledger-store.ts";
import { PICK, REMEMBER } from "./list-scripts.ts";
import {
  type AccountKeys,
  accountKeys,
  accountPrefix,
  machineKey,
  pathRef,
  recordHashKey,
  taskRef,
  workRef,
} from "./redis-keys.ts";
import type { RedisLink } from "./redis-link.ts";
import { type Place, UNSETTLED } from "./redis-rows.ts";
import type { Scripts } from "./redis-script.ts";

/** Records looked at a time where some are then passed over: few round trips for the longest list. */
const PAGE_ROWS = 1000;

const texts = z.array(z.string());

interface Listed extends StoredValue {
  readonly createdAtMs: number;
}

const valueAndDate = z.tuple([z.string().nullable(), z.string().nullable()]);

const stored = ({ accountId, recordId, value }: Listed): StoredValue => ({ accountId, recordId, value });

/** One order also for records of one moment, so that a list is the same twice. */
function newestFirst(one: Listed, other: Listed): number {
  if (one.createdAtMs !== other.createdAtMs) return other.createdAtMs - one.createdAtMs;
  return one.recordId < other.recordId ? 1 : -1;
}

interface ListsOptions {
  readonly scripts: Scripts;
  readonly accountId: AccountId;
  readonly origin: string;
  readonly machineId: string;
}

export class Lists {
  readonly #options: ListsOptions;

  constructor(options: ListsOptions) {
    this.#options = options;
  }

  /** This account first, then those that this machine has used at the origin, the latest first. */
  async accounts(link: RedisLink): Promise<AccountId[]> {
    const { scripts, accountId, origin, machineId } = this.#options;
    const keys = [machineKey(machineId, origin)] as const;
    const known = texts.parse(await scripts.run(link, REMEMBER, { keys, q: { accountId } }));
    return [accountId, ...known.filter((other) => other !== accountId)];
  }

  async list(link: RedisLink, query: ListQuery): Promise<StoredValue[]> {
    const accounts = query.accounts === "own" ? [this.#options.accountId] : await this.accounts(link);
    const lists = await Promise.all(accounts.map((accountId) => this.#ofAccount(link, accountId, query)));
    return lists.flat().sort(newestFirst).slice(0, query.limit).map(stored);
  }

  ofWork(link: RedisLink, workId: string): Promise<StoredValue[]> {
    return this.#ofRef(link, workRef(workId));
  }

  ofTask(link: RedisLink, taskId: string): Promise<StoredValue[]> {
    return this.#ofRef(link, taskRef(taskId));
  }

  ofPath(link: RedisLink, path: string): Promise<StoredValue[]> {
    return this.#ofRef(link, pathRef(path));
  }

  async #ofRef(link: RedisLink, ref: string): Promise<StoredValue[]> {
    const accounts = await this.accounts(link);
    const places = await Promise.all(
      accounts.map(async (accountId): Promise<Place[]> => {
        const key = `${accountPrefix(accountId)}${ref}`;
        const ids = texts.parse(await link.send(key, ["HKEYS", key]));
        return ids.map((recordId) => ({ accountId, recordId }));
      }),
    );
    const found = await Promise.all(places.map((own) => this.#oldestFirst(link, own)));
    return found.flat();
  }

  async #oldestFirst(link: RedisLink, places: readonly Place[]): Promise<StoredValue[]> {
    const listed = await Promise.all(
      places.map(async ({ accountId, recordId }): Promise<Listed[]> => {
        const key = recordHashKey(accountId, recordId);
        const answer = await link.send(key, ["HMGET", key, "value", "created"]);
        const [value, created] = valueAndDate.parse(answer);
        return value === null ? [] : [{ accountId, recordId, value, createdAtMs: Number(created) }];
      }),
    );
    return listed.flat().sort(newestFirst).reverse().map(stored);
  }

  async #ofAccount(link: RedisLink, accountId: AccountId, query: ListQuery): Promise<Listed[]> {
    const { status, limit } = query;
    const key = listKey(accountKeys(accountId), query);
    const found: Listed[] = [];
    const rows = status === undefined ? limit : PAGE_ROWS;
    for (let from = 0; found.length < limit; from += rows) {
      const range = [String(from), String(from + rows - 1), "WITHSCORES"];
      const page = texts.parse(await link.send(key, ["ZREVRANGE", key, ...range]));
      const ids = page.filter((_, at) => at % 2 === 0);
      const [first, ...rest] = ids.map((id) => recordHashKey(accountId, id));
      if (first === undefined) break;
      const listedOnly = query.accounts === "all" && query.openOnly !== true;
      const q = { status, limit: limit - found.length, listedOnly };
      const question = { keys: [first, ...rest] as const, q };
      const picked = await this.#options.scripts.run(link, PICK, question);
      for (const [at, value] of picks(picked)) {
        const id = ids[at];
        if (id === undefined) continue;
        found.push({ accountId, recordId: id, value, createdAtMs: Number(page[2 * at + 1]) });
      }
      if (ids.length < rows) break;
    }
    return found;
  }
}

/** The shortest list that holds everything asked for. */
function listKey(keys: AccountKeys, { status, openOnly }: ListQuery): string {
  if (openOnly === true) return keys.open;
  return status !== undefined && UNSETTLED.includes(status) ? keys.unsettled : keys.newest;
}

function picks(answer: unknown): Array<readonly [number, string]> {
  const flat = z.array(z.union([z.number(), z.string()])).parse(answer);
  const pairs: Array<readonly [number, string]> = [];
  for (let at = 0; at + 1 < flat.length; at += 2) pairs.push([Number(flat[at]), String(flat[at + 1])]);
  return pairs;
}
