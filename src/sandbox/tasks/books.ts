/** Changes a task and its credits together, at its creation and at its end. */
import type { DatabaseSync } from "node:sqlite";
import { RESERVED_CREDITS } from "../../contract/billing.ts";
import { IN_FLIGHT_TASKS } from "../../contract/limits.ts";
import type { Account } from "../accounts/directory.ts";
import { GrantStore } from "../accounts/grant-store.ts";
import { availableCredits, type Draw, planDraws, unlocks } from "../accounts/grants.ts";
import type { SandboxClock } from "../clock.ts";
import { inTransaction } from "../database.ts";
import type { Faults } from "../faults.ts";
import { ServiceError } from "../service-error.ts";
import type { FingerprintedInput } from "./idempotency.ts";
import { newTaskId, type TaskRecord } from "./task.ts";
import { type TaskEnding, TaskStore } from "./task-store.ts";

/** Unfinished tasks over all accounts: what bounds the queue for speech, and the memory it can hold. */
const SITE_CAPACITY_TASKS = 256;

export interface BooksOptions {
  readonly database: DatabaseSync;
  readonly clock: SandboxClock;
  readonly faults: Faults;
  /** False lifts the in-flight limit of each account; the site's capacity stays. */
  readonly enforceLimits: boolean;
}

/** Credits of an account, all grants together: granted = left + reserved + charged, whatever has expired. */
export interface AccountBalance {
  readonly accountId: string;
  readonly granted: number;
  readonly available: number;
  readonly reserved: number;
  readonly charged: number;
}

export class Books {
  readonly tasks: TaskStore;
  readonly #grants: GrantStore;
  readonly #options: BooksOptions;

  constructor(options: BooksOptions) {
    this.tasks = new TaskStore(options.database);
    this.#grants = new GrantStore(options.database);
    this.#options = options;
  }

  /**
   * Creates a task with its reservation, or finds the one that this key already made (docs/contract.md, Idempotency). A refused
   * create leaves the key unused.
   *
   * @returns the task, and whether it is a replay: one needs neither credits nor a slot
   * @throws ServiceError in this order: idempotency_conflict, purchase_required, insufficient_credits,
   *   concurrency_limit (for the account's two slots and for the site's capacity)
   */
  createOrReplay(
    account: Account,
    idempotencyKey: string,
    { json, sha256 }: FingerprintedInput,
  ): { task: TaskRecord; replayed: boolean } {
    return inTransaction(this.#options.database, () => {
      const original = this.tasks.findByKey(account.id, idempotencyKey);
      if (original !== undefined) {
        if (original.input_sha256 === sha256) return { task: original, replayed: true };
        throw new ServiceError(
          "idempotency_conflict",
          "This idempotency key was already used with different input.",
        );
      }
      const wallMs = Math.floor(this.#options.clock.wallMs());
      const draws = this.#drawsFor(account, wallMs);
      this.#requireRoom(account);
      const task = this.tasks.insert({
        id: newTaskId(),
        account_id: account.id,
        idempotency_key: idempotencyKey,
        input_json: json,
        input_sha256: sha256,
        doomed: this.#options.faults.takeFailure() ? 1 : 0,
        created_ms: wallMs,
      });
      this.#grants.reserve(account.id, task.id, draws);
      return { task, replayed: false };
    });
  }

  /** Ends a task and settles its reservation as one change; a task that has ended stays as it is. */
  endTask(task: TaskRecord, ending: TaskEnding): void {
    inTransaction(this.#options.database, () => {
      if (!this.tasks.end(task.id, ending)) return;
      const chargeCredits = ending.status === "succeeded" ? ending.chargedCredits : 0;
      this.#grants.settle(task.account_id, task.id, chargeCredits);
    });
  }

  balanceOf(account: Account): AccountBalance {
    const grants = this.#grants.grantsOf(account);
    const sum = (field: "credits" | "reserved" | "charged"): number =>
      grants.reduce((total, grant) => total + grant[field], 0);
    return {
      accountId: account.id,
      granted: sum("credits"),
      available: availableCredits(grants, this.#options.clock.wallMs()),
      reserved: sum("reserved"),
      charged: sum("charged"),
    };
  }

  #drawsFor(account: Account, wallMs: number): Draw[] {
    const grants = this.#grants.grantsOf(account);
    if (!unlocks(grants, wallMs)) {
      throw new ServiceError(
        "purchase_required",
        "A paid credit pack or an active paid subscription is needed to create tasks.",
      );
    }
    const draws = planDraws(grants, RESERVED_CREDITS, wallMs);
    if (draws === undefined) {
      throw new ServiceError(
        "insufficient_credits",
        `A task needs ${RESERVED_CREDITS} available credits; this account has fewer.`,
      );
    }
    return draws;
  }

  #requireRoom(account: Account): void {
    const { enforceLimits, faults } = this.#options;
    if (enforceLimits && this.tasks.countOpenOf(account.id) >= IN_FLIGHT_TASKS) {
      throw new ServiceError(
        "concurrency_limit",
        `This account already has ${IN_FLIGHT_TASKS} tasks in progress.`,
      );
    }
    // The contract names no code for site capacity; of its two, this is the one about tasks in progress.
    if (faults.capacityFull || this.tasks.countOpen() >= SITE_CAPACITY_TASKS) {
      throw new ServiceError("concurrency_limit", "The site is at capacity. Wait before trying again.");
    }
  }
}
