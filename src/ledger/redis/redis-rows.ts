/** Writes and reads records in Redis: keys and questions for the scripts, made out of rows. */
import { z } from "zod";
import type { HolderId } from "../../holder.ts";
import { SPEND_BUCKET_MS } from "../horizons.ts";
import type { AccountId } from "../identity.ts";
import type { RecordStatus, Row } from "../record.ts";
import { RELEASE } from "./record-scripts.ts";
import { accountKeys, accountPrefix, pathRef, recordHashKey, taskRef, workRef } from "./redis-keys.ts";
import type { RedisLink } from "./redis-link.ts";
import type { RedisScript, Scripts } from "./redis-script.ts";

/** Where a record is. */
export interface Place {
  readonly accountId: AccountId;
  readonly recordId: string;
}

/** Only statuses that a task can leave again; kept in a list of their own, for they are few. */
export const UNSETTLED: readonly RecordStatus[] = ["waiting", "unresolved", "queued", "processing"];

/** A record changes only between two tries where others write it; nobody writes one so often. */
const MOST_DECLARATIONS = 5;

const declareAnswer = z.tuple([z.literal("declare")]).rest(z.string());

/** The quarter of an hour that a budget counts an expense in. */
export const bucketOf = (atMs: number): string => String(Math.floor(atMs / SPEND_BUCKET_MS));

/** The names that a record is found by. */
const refsOf = ({ workId, taskId, paths }: Row): string[] => [
  workRef(workId),
  ...(taskId === null ? [] : [taskRef(taskId)]),
  ...paths.map(pathRef),
];

/** What the scripts are told of a row; its value goes beside it. */
export function scriptRow(row: Row): Record<string, unknown> {
  return {
    id: row.recordId,
    revision: row.revision,
    status: row.status,
    task: row.taskId ?? "",
    refs: refsOf(row),
    isOpen: row.isOpen,
    isListed: row.isListed,
    isUnsettled: UNSETTLED.includes(row.status),
    flight: row.flight ?? "",
    credits: row.spend?.credits ?? 0,
    bucket: row.spend === null ? "" : bucketOf(row.spend.atMs),
    created: row.createdAtMs,
  };
}

/** Keys 1 to 10 of the scripts that write a record; `slots` is the seventh. */
export function rowKeys({ accountId, recordId }: Place, slots: string): [string, ...string[]] {
  const { flight, spend, open, unsettled, newest, alive, pauses, parts } = accountKeys(accountId);
  const record = recordHashKey(accountId, recordId);
  return [record, flight, spend, open, unsettled, newest, slots, alive, pauses, parts];
}

export interface RowQuestion {
  readonly place: Place;
  readonly after: Row | null;
  /** As text, where it is not the row's. */
  readonly value?: string;
  readonly more?: Readonly<Record<string, unknown>>;
  readonly slots?: string;
}

export class Rows {
  readonly #scripts: Scripts;
  readonly #holder: HolderId;

  constructor(scripts: Scripts, holder: HolderId) {
    this.#scripts = scripts;
    this.#holder = holder;
  }

  /** Runs a script that writes a record; names that the stored one is found by are declared once they are known. */
  async run(link: RedisLink, script: RedisScript, question: RowQuestion): Promise<unknown> {
    const { place, after, more = {} } = question;
    const prefix = accountPrefix(place.accountId);
    const row = after === null ? undefined : scriptRow(after);
    const q = { id: place.recordId, prefix, holder: this.#holder, row, ...more };
    const value = question.value ?? after?.value ?? "";
    const declared = new Set(after === null ? [] : refsOf(after));
    for (let tries = 0; tries <= MOST_DECLARATIONS; tries += 1) {
      const names = [...declared].map((name) => `${prefix}${name}`);
      const slots = question.slots ?? accountKeys(place.accountId).creates;
      const [first, ...rest] = rowKeys(place, slots);
      const answer = await this.#scripts.run(link, script, { keys: [first, ...rest, ...names], q, value });
      const missing = declareAnswer.safeParse(answer).data;
      if (missing === undefined) return answer;
      for (const name of missing.slice(1)) declared.add(name);
    }
    throw new Error("others write the record faster than this process can");
  }

  async release(link: RedisLink, place: Place): Promise<void> {
    const keys = [recordHashKey(place.accountId, place.recordId)] as const;
    await this.#scripts.run(link, RELEASE, { keys, q: { holder: this.#holder } });
  }

  /** The stored text, or `undefined` for no record. */
  async value(link: RedisLink, { accountId, recordId }: Place): Promise<string | undefined> {
    const key = recordHashKey(accountId, recordId);
    return (
      z
        .string()
        .nullable()
        .parse(await link.send(key, ["HGET", key, "value"])) ?? undefined
    );
  }
}
