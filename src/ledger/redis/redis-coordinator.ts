/** Owns the Coordinator over Redis: one script a method, on the server's clock; knows no rule but the scripts' keys. */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type {
  AccountId,
  BudgetQuery,
  Coordinator,
  CreateAdmission,
  CreateOutcome,
  CreateRequest,
  HolderId,
  IndexEntry,
  IndexQuery,
  LimitClass,
  ReadAdmission,
  ReadRequest,
} from "../coordinator.ts";
import { IN_FLIGHT_AT_MOST_MS, SLOT_KEPT_MS } from "../horizons.ts";
import { ADMIT_CREATE, COUNT_CREDITS, END_TASK, NOTE_IN_FLIGHT, SETTLE_CREATE } from "./create-scripts.ts";
import { ACQUIRE_LEASE, RELEASE_LEASE } from "./lease-scripts.ts";
import { ADMIT_READ, HEARTBEAT, PAUSE, SETTLE_READ } from "./read-scripts.ts";
import { RedisIndex } from "./redis-index.ts";
import {
  ALIVE_KEY,
  createSlotsKey,
  IN_FLIGHT_KEY,
  LEASES_KEY,
  PAUSES_KEY,
  readSlotsKey,
  SPEND_KEY,
  SPEND_ORDER_KEY,
} from "./redis-keys.ts";
import type { ScriptRunner } from "./redis-script.ts";

const createAnswer = z.union([
  z.tuple([z.literal("admitted")]),
  z.tuple([z.enum(["budget", "paused", "rate", "in_flight"]), z.coerce.number()]),
]);
const readAnswer = z.tuple([z.enum(["admitted", "paused", "rate"]), z.coerce.number()]);

const attemptField = (recordId: string, attempt: number): string => `${attempt} ${recordId}`;
const pauseField = (accountId: AccountId, limitClass: LimitClass): string => `${limitClass} ${accountId}`;
/** A slot id tells its account, for that is the key under which the slot is kept. */
const newSlotId = (accountId: AccountId): string => `${randomUUID()} ${accountId}`;
const accountOf = (slotId: string): AccountId => slotId.slice(slotId.indexOf(" ") + 1);

export class RedisCoordinator implements Coordinator {
  readonly #scripts: ScriptRunner;
  readonly #index: RedisIndex;

  constructor(scripts: ScriptRunner) {
    this.#scripts = scripts;
    this.#index = new RedisIndex(scripts);
  }

  putIndex(entry: IndexEntry): Promise<void> {
    return this.#index.put(entry);
  }

  removeIndex(recordId: string): Promise<void> {
    return this.#index.remove(recordId);
  }

  listIndex(query: IndexQuery): Promise<IndexEntry[]> {
    return this.#index.list(query);
  }

  recordsOfWork(workId: string): Promise<string[]> {
    return this.#index.ofWork(workId);
  }

  recordsOfTask(origin: string, taskId: string): Promise<string[]> {
    return this.#index.ofTask(origin, taskId);
  }

  putPath(place: string, path: string, recordId: string): Promise<void> {
    return this.#index.putPath(place, path, recordId);
  }

  recordsOfPath(place: string, path: string): Promise<string[]> {
    return this.#index.ofPath(place, path);
  }

  async acquireLease(
    name: string,
    holder: HolderId,
    ttlMs: number,
    replacing?: HolderId,
  ): Promise<{ acquired: true } | { acquired: false; holder: HolderId }> {
    const values = [name, holder, String(ttlMs), replacing ?? ""];
    const holds = z.string().parse(await this.#scripts.run(ACQUIRE_LEASE, [LEASES_KEY], ...values));
    return holds === holder ? { acquired: true } : { acquired: false, holder: holds };
  }

  async releaseLease(name: string, holder: HolderId): Promise<void> {
    await this.#scripts.run(RELEASE_LEASE, [LEASES_KEY], name, holder);
  }

  async admitCreate(request: CreateRequest): Promise<CreateAdmission> {
    const { accountId, recordId, attempt, budget, ...rest } = request;
    const slotId = newSlotId(accountId);
    const question = {
      ...rest,
      accountId,
      recordId,
      attempt,
      slotId,
      field: attemptField(recordId, attempt),
      pauseField: pauseField(accountId, "creates"),
      // Absent where there is none: Lua's JSON null would count as a budget.
      ...(budget === null ? {} : { budget }),
      inFlightAtMostMs: IN_FLIGHT_AT_MOST_MS,
      keepMs: SLOT_KEPT_MS,
    };
    const keys = [
      createSlotsKey(accountId),
      IN_FLIGHT_KEY,
      SPEND_KEY,
      SPEND_ORDER_KEY,
      ALIVE_KEY,
      PAUSES_KEY,
    ];
    const answer = createAnswer.parse(await this.#scripts.run(ADMIT_CREATE, keys, JSON.stringify(question)));
    const [verdict, figure] = answer;
    if (verdict === "admitted") return { admitted: true, slotId };
    if (verdict === "budget") return { admitted: false, reason: "budget", countedCredits: figure };
    return { admitted: false, reason: verdict, waitMs: figure };
  }

  async countCredits({ origin, recordId, attempt, windowMs }: BudgetQuery): Promise<number> {
    const values = [origin, attemptField(recordId, attempt), String(windowMs)];
    const answer = await this.#scripts.run(COUNT_CREDITS, [SPEND_KEY, SPEND_ORDER_KEY], ...values);
    return z.coerce.number().parse(answer);
  }

  async settleCreate(slotId: string, outcome: CreateOutcome): Promise<void> {
    const accountId = accountOf(slotId);
    const keys = [createSlotsKey(accountId), IN_FLIGHT_KEY, SPEND_KEY, SPEND_ORDER_KEY];
    await this.#scripts.run(SETTLE_CREATE, keys, slotId, outcome, accountId);
  }

  async endTask(recordId: string, attempt: number, chargedCredits: number): Promise<void> {
    const values = [attemptField(recordId, attempt), String(chargedCredits), String(IN_FLIGHT_AT_MOST_MS)];
    await this.#scripts.run(END_TASK, [IN_FLIGHT_KEY, SPEND_KEY, SPEND_ORDER_KEY], ...values);
  }

  async noteInFlight(
    accountId: AccountId,
    origin: string,
    recordId: string,
    attempt: number,
    credits: number,
  ): Promise<void> {
    const field = attemptField(recordId, attempt);
    const note = { field, record: recordId, attempt, account: accountId, origin, credits };
    await this.#scripts.run(
      NOTE_IN_FLIGHT,
      [IN_FLIGHT_KEY, SPEND_KEY, SPEND_ORDER_KEY],
      JSON.stringify(note),
    );
  }

  async admitRead(request: ReadRequest): Promise<ReadAdmission> {
    const { accountId, holder, maxReads, windowMs } = request;
    const slotId = newSlotId(accountId);
    const [answer, number] = readAnswer.parse(
      await this.#scripts.run(
        ADMIT_READ,
        [readSlotsKey(accountId), ALIVE_KEY, PAUSES_KEY],
        slotId,
        holder,
        String(maxReads),
        String(windowMs),
        pauseField(accountId, "reads"),
      ),
    );
    return answer === "admitted"
      ? { admitted: true, slotId, usedReads: number }
      : { admitted: false, reason: answer, waitMs: number };
  }

  async settleRead(slotId: string): Promise<void> {
    await this.#scripts.run(SETTLE_READ, [readSlotsKey(accountOf(slotId))], slotId);
  }

  async pause(accountId: AccountId, limitClass: LimitClass, ms: number): Promise<void> {
    await this.#scripts.run(PAUSE, [PAUSES_KEY], pauseField(accountId, limitClass), String(ms));
  }

  async heartbeat(holder: HolderId): Promise<void> {
    await this.#scripts.run(HEARTBEAT, [ALIVE_KEY], holder, String(IN_FLIGHT_AT_MOST_MS + SLOT_KEPT_MS));
  }
}
