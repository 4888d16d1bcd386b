/** Stores all tasks. Reserves credits when a task is created, and charges or releases them when it ends. */
import type { NormalizedAudioInput } from "../../contract/audio-input.ts";
import { RESERVED_CREDITS } from "../../contract/billing.ts";
import { MAX_CONCURRENT_TASKS } from "../../contract/service-limits.ts";
import type { Account } from "../accounts/account-registry.ts";
import {
  endReservation,
  type GrantReservation,
  hasUnlockingGrant,
  planReservation,
  reserve,
} from "../accounts/grants.ts";
import type { SandboxClock } from "../clock.ts";
import type { Faults } from "../faults.ts";
import { ServiceError } from "../sandbox-errors.ts";
import { createTaskId, type Task, type TaskEnding } from "./task.ts";

/** Maximum number of unfinished tasks over all accounts. It bounds the queue of the speech engine. */
const SERVICE_CAPACITY_TASKS = 256;

export interface TaskRegistryOptions {
  readonly clock: SandboxClock;
  readonly faults: Faults;
  /**
   * Whether an account may have at most {@link MAX_CONCURRENT_TASKS} unfinished tasks. The limit
   * {@link SERVICE_CAPACITY_TASKS} always applies.
   */
  readonly enforcesConcurrencyLimit: boolean;
}

/**
 * Keeps all tasks in memory until the sandbox stops, and finds them by task id or idempotency key. Enforces the limits
 * of tasks in progress.
 */
export class TaskRegistry {
  readonly #options: TaskRegistryOptions;
  readonly #byId = new Map<string, Task>();
  readonly #byKey = new Map<string, Task>();
  readonly #open = new Set<Task>();

  constructor(options: TaskRegistryOptions) {
    this.#options = options;
  }

  find(id: string): Task | undefined {
    return this.#byId.get(id);
  }

  /**
   * Creates a task and reserves its credits. If the idempotency key was used for a task earlier, returns that task
   * instead (docs/contract.md, Idempotency). After a refused submission, the key still counts as unused.
   *
   * @returns the task, and whether the submission is a replay; a replay needs neither credits nor a concurrency slot
   * @throws ServiceError in this order: idempotency_conflict, purchase_required, insufficient_credits,
   *   concurrency_limit (first for the account's two concurrency slots, then for the service's capacity)
   */
  createOrReplay(
    account: Account,
    idempotencyKey: string,
    input: NormalizedAudioInput,
  ): { task: Task; replayed: boolean } {
    // Combine the idempotency key with the account, because two accounts may use the same key. A space separates key
    // and account id, because idempotency keys contain no space.
    const accountKey = `${idempotencyKey} ${account.id}`;
    const original = this.#byKey.get(accountKey);
    if (original !== undefined) {
      if (isSameInput(original.input, input)) return { task: original, replayed: true };
      throw new ServiceError(
        "idempotency_conflict",
        "This idempotency key was already used with different input.",
      );
    }
    const createdMs = this.#options.clock.wallMs();
    const grantReservations = requireReservation(account, createdMs);
    this.#requireCapacity(account);
    const mustFail = this.#options.faults.consumeFailure();
    const id = createTaskId();
    const task: Task = {
      id,
      account,
      input,
      grantReservations,
      mustFail,
      createdAtMs: createdMs,
      state: { status: "queued" },
    };
    reserve(grantReservations);
    this.#byId.set(id, task);
    this.#byKey.set(accountKey, task);
    this.#open.add(task);
    return { task, replayed: false };
  }

  /** Ends a task and charges or releases its credits. Does nothing if the task has already ended. */
  end(task: Task, ending: TaskEnding): void {
    if (!this.#open.delete(task)) return;
    task.state = ending;
    endReservation(task.grantReservations, ending.status === "succeeded" ? ending.chargedCredits : 0);
  }

  #requireCapacity(account: Account): void {
    const { enforcesConcurrencyLimit, faults } = this.#options;
    const accountTasks = [...this.#open].filter((task) => task.account === account);
    if (enforcesConcurrencyLimit && accountTasks.length >= MAX_CONCURRENT_TASKS) {
      throw new ServiceError(
        "concurrency_limit",
        `This account already has ${MAX_CONCURRENT_TASKS} tasks in progress.`,
      );
    }
    // The contract has no code for a service at capacity. `concurrency_limit` is the closest code, because it is about
    // tasks in progress.
    if (faults.capacityFull || this.#open.size >= SERVICE_CAPACITY_TASKS) {
      throw new ServiceError("concurrency_limit", "The service is at capacity. Wait before trying again.");
    }
  }
}

/**
 * Returns whether two inputs are the same (docs/contract.md, Idempotency). Equal inputs have equal JSON, because the
 * normaliser writes the fields of an input in a fixed order. The same references in another order are another input,
 * because a prompt names references by position (`@Audio1`, `@Audio2`).
 */
const isSameInput = (one: NormalizedAudioInput, other: NormalizedAudioInput): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

function requireReservation({ grants }: Account, wallMs: number): GrantReservation[] {
  if (!hasUnlockingGrant(grants, wallMs)) {
    throw new ServiceError(
      "purchase_required",
      "A paid credit pack or an active paid subscription is needed to create tasks.",
    );
  }
  const grantReservations = planReservation(grants, RESERVED_CREDITS, wallMs);
  if (grantReservations === undefined) {
    throw new ServiceError(
      "insufficient_credits",
      `A task needs ${RESERVED_CREDITS} available credits; this account has fewer.`,
    );
  }
  return grantReservations;
}
