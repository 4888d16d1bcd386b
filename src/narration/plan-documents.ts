/** Keeps the plans of narrations as documents in the ledger. A plan is written and read whole. */
import Keyv from "keyv";
import type { Database } from "../ledger/database.ts";
import { DOCUMENT_KEYV_OPTIONS, KeyvDocuments } from "../ledger/documents.ts";
import { parseStoredPlan, type StoredPlan } from "./planning/stored-plan.ts";

/** Maximum number of cached plans. Each plan may be as long as a book. */
const MAX_PLANS = 4;

export class PlanDocuments {
  readonly #documents: Keyv<StoredPlan>;
  readonly #cache = new Map<string, StoredPlan>();

  constructor(database: Database) {
    this.#documents = new Keyv({ ...DOCUMENT_KEYV_OPTIONS, store: new KeyvDocuments(database) });
  }

  /**
   * Reads a plan with the remarks on the latest text.
   *
   * @throws AudioError `store_unavailable`, also for a plan that is damaged or missing
   */
  async read(narrationId: string): Promise<StoredPlan> {
    const stored: unknown = await this.#documents.get(narrationId);
    const plan = parseStoredPlan(stored, narrationId);
    this.#keep(narrationId, plan);
    return plan;
  }

  /**
   * Returns a plan, from memory if it is there. Its parts never change, but its remarks and titles may be those of an
   * earlier text.
   */
  async get(narrationId: string): Promise<StoredPlan> {
    return this.#cache.get(narrationId) ?? (await this.read(narrationId));
  }

  /** Stores a plan in place of the one of an earlier text with the same parts, whose remarks and titles may differ. */
  async write(narrationId: string, plan: StoredPlan): Promise<void> {
    await this.#documents.set(narrationId, plan);
    this.#keep(narrationId, plan);
  }

  #keep(narrationId: string, plan: StoredPlan): void {
    this.#cache.delete(narrationId);
    this.#cache.set(narrationId, plan);
    const [oldest] = this.#cache.keys();
    if (this.#cache.size > MAX_PLANS && oldest !== undefined) this.#cache.delete(oldest);
  }
}
