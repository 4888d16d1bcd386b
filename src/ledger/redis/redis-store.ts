/** The ledger on a Redis server or cluster that several machines share; nothing is connected before its first use. */
import Keyv from "keyv";
import { z } from "zod";
import type { Clock } from "../../clock.ts";
import type { HolderId } from "../../holder.ts";
import type { Log } from "../../log.ts";
import type { AccountId } from "../identity.ts";
import { RECORD_KEYV_OPTIONS } from "../keyv-options.ts";
import type {
  Admission,
  AdmitRequest,
  Claim,
  ClaimAnswer,
  LedgerIdentity,
  LedgerStore,
  LimitClass,
  ListQuery,
  ReadAdmission,
  ReadRequest,
  Settlement,
  StoredValue,
  Write,
  WriteAnswer,
} from "../ledger-store.ts";
import type { NarrationStore } from "../narration-store.ts";
import { ADMIT, SPENT_CREDITS } from "./admit-script.ts";
import { KeyvShared } from "./keyv-shared.ts";
import { checkLayout } from "./layout.ts";
import { ADMIT_READ, PAUSE, SETTLE, SIGN_OF_LIFE } from "./limit-scripts.ts";
import { CLAIM, WRITE } from "./record-scripts.ts";
import { RedisConnection } from "./redis-connection.ts";
import { health } from "./redis-health.ts";
import { type AccountKeys, accountKeys, recordHashKey } from "./redis-keys.ts";
import type { RedisLink } from "./redis-link.ts";
import { Lists } from "./redis-lists.ts";
import { RedisNarrations } from "./redis-narrations.ts";
import { Rows } from "./redis-rows.ts";
import { Scripts } from "./redis-script.ts";

export interface RedisStoreOptions {
  /** `redis://` or `rediss://`, credentials included; they go nowhere else. */
  readonly storeUrl: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly identity: LedgerIdentity;
  /** Tells this machine from others: the accounts that are used on it find each other's records. */
  readonly machineId: string;
  /** Moves the scripts' clock by so many milliseconds: for tests, which let time pass by it. */
  readonly skewMs?: () => number;
}

const stored = z.string().nullish();
const writeAnswer = z.union([z.tuple([z.literal("written")]), z.tuple([z.literal("refused")]).rest(stored)]);
const claimAnswer = z.tuple([z.string(), z.string()]);
const admission = z.union([
  z.tuple([z.literal("admitted")]),
  z.tuple([z.literal("conflict"), z.literal([0, 1])]).rest(stored),
  z.tuple([z.enum(["budget", "paused", "rate", "in_flight"]), z.coerce.number()]),
]);
const readAnswer = z.tuple([z.enum(["admitted", "paused", "rate"]), z.coerce.number()]);
const lostAnswer = z.array(z.int());

class RedisStore implements LedgerStore {
  readonly keyv: Keyv<unknown>;
  readonly narrations: NarrationStore;
  readonly description: string;
  readonly #connection: RedisConnection;
  readonly #scripts: Scripts;
  readonly #rows: Rows;
  readonly #lists: Lists;
  readonly #account: AccountId;
  readonly #holder: HolderId;
  readonly #keys: AccountKeys;

  constructor(options: RedisStoreOptions) {
    const { storeUrl, log, clock, identity, machineId, skewMs = () => 0 } = options;
    const { origin, accountId, holder } = identity;
    this.#account = accountId;
    this.#holder = holder;
    this.#keys = accountKeys(accountId);
    this.#scripts = new Scripts(clock, skewMs);
    this.#rows = new Rows(this.#scripts, holder);
    this.#lists = new Lists({ scripts: this.#scripts, accountId, origin, machineId });
    this.#connection = new RedisConnection({
      storeUrl,
      log,
      prepare: async (link) => {
        await checkLayout(link);
        await this.#lists.accounts(link);
      },
    });
    this.narrations = new RedisNarrations({
      use: (work) => this.#connection.use(work),
      scripts: this.#scripts,
      accountId,
      holder,
    });
    this.description = `Redis at ${this.#connection.place}`;
    this.keyv = new Keyv(
      new KeyvShared((work) => this.#connection.use(work), this.#rows, this.#connection.place),
      {
        ...RECORD_KEYV_OPTIONS,
        useKeyPrefix: false,
      },
    );
  }

  async claim({ row, leaseTtlMs, replacing }: Claim): Promise<ClaimAnswer> {
    const [holder, value] = claimAnswer.parse(
      await this.#connection.use((link) =>
        this.#rows.run(link, CLAIM, { place: row, after: row, more: { leaseTtlMs, replacing } }),
      ),
    );
    return { holder, value };
  }

  release(recordId: string): Promise<void> {
    return this.#connection.use((link) => this.#rows.release(link, { accountId: this.#account, recordId }));
  }

  async write(write: Write): Promise<WriteAnswer> {
    const { accountId, recordId, expectedRevision, after, settle, lease = "renew" } = write;
    const isOwn = accountId === this.#account;
    // Slots are this account's, whosever the record is: another account's are in another slot of a cluster.
    if (settle !== undefined && !isOwn) await this.settle(settle);
    const more = {
      expectedRevision: expectedRevision ?? -1,
      lease,
      ...(settle !== undefined && isOwn ? { settle } : {}),
    };
    const slots = settle === undefined ? {} : { slots: this.#keys[settle.limitClass] };
    const own = isOwn ? slots : {};
    const place = { accountId, recordId };
    const [verdict, value] = writeAnswer.parse(
      await this.#connection.use((link) => this.#rows.run(link, WRITE, { place, after, more, ...own })),
    );
    return verdict === "written" ? { written: true } : { written: false, value: value ?? undefined };
  }

  async admit({ after, budget, ...rest }: AdmitRequest): Promise<Admission> {
    // Absent where there is none: Lua's JSON null would count as a budget.
    const more = { ...rest, ...(budget === null ? {} : { budget }) };
    const answer = admission.parse(
      await this.#connection.use((link) => this.#rows.run(link, ADMIT, { place: after, after, more })),
    );
    switch (answer[0]) {
      case "admitted":
        return { kind: "admitted" };
      case "conflict":
        return { kind: "conflict", value: answer[2] ?? undefined, isLeaseLost: answer[1] === 1 };
      case "budget":
        return { kind: "over_budget", countedCredits: answer[1] };
      default:
        return { kind: "held", reason: answer[0], waitMs: answer[1] };
    }
  }

  async spentCredits(windowMs: number): Promise<number> {
    const question = { keys: [this.#keys.spend, this.#keys.parts] as const, q: { windowMs } };
    return z.coerce
      .number()
      .parse(await this.#connection.use((link) => this.#scripts.run(link, SPENT_CREDITS, question)));
  }

  async settle({ limitClass, slotId, outcome }: Settlement): Promise<void> {
    const question = { keys: [this.#keys[limitClass]] as const, q: { slotId, outcome } };
    await this.#connection.use((link) => this.#scripts.run(link, SETTLE, question));
  }

  async admitRead(request: ReadRequest): Promise<ReadAdmission> {
    const { reads, alive, pauses } = this.#keys;
    const question = { keys: [reads, alive, pauses] as const, q: { ...request, holder: this.#holder } };
    const [verdict, figure] = readAnswer.parse(
      await this.#connection.use((link) => this.#scripts.run(link, ADMIT_READ, question)),
    );
    return verdict === "admitted"
      ? { kind: "admitted", usedReads: figure }
      : { kind: "held", reason: verdict, waitMs: figure };
  }

  async pause(limitClass: LimitClass, ms: number): Promise<void> {
    const question = { keys: [this.#keys.pauses] as const, q: { class: limitClass, ms } };
    await this.#connection.use((link) => this.#scripts.run(link, PAUSE, question));
  }

  async signOfLife(recordIds: readonly string[]): Promise<string[]> {
    const records = recordIds.map((recordId) => recordHashKey(this.#account, recordId));
    const question = { keys: [this.#keys.alive, ...records] as const, q: { holder: this.#holder } };
    const lost = lostAnswer.parse(
      await this.#connection.use((link) => this.#scripts.run(link, SIGN_OF_LIFE, question)),
    );
    return lost.flatMap((at) => recordIds[at] ?? []);
  }

  list(query: ListQuery): Promise<StoredValue[]> {
    return this.#connection.use((link) => this.#lists.list(link, query));
  }

  ofWork(workId: string): Promise<StoredValue[]> {
    return this.#connection.use((link) => this.#lists.ofWork(link, workId));
  }

  ofTask(taskId: string): Promise<StoredValue[]> {
    return this.#connection.use((link) => this.#lists.ofTask(link, taskId));
  }

  ofPath(path: string): Promise<StoredValue[]> {
    return this.#connection.use((link) => this.#lists.ofPath(link, path));
  }

  /** Nothing here reads what belongs to others (docs/design.md, Ledger on Redis). */
  async otherOrigins(): Promise<string[]> {
    return [];
  }

  check(): Promise<string[]> {
    return this.#connection.use((link: RedisLink) => health(link, this.#keys.check));
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

/** @throws AudioError `configuration_error` for an address that is none */
export function openRedisStore(options: RedisStoreOptions): LedgerStore {
  return new RedisStore(options);
}
