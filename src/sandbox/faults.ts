/** The faults that a test may switch on (docs/reference.md, Sandbox). */
import { z } from "zod";

/** Omitted fields keep their setting. */
export const faultsSchema = z.strictObject({
  /** How many of the next tasks fail. Replaces the earlier number. */
  fail_next_tasks: z.int().min(0).max(1_000_000).optional(),
  /** The code of the 503 that every authenticated request gets, or null for none. */
  unavailable: z.enum(["api_unavailable", "temporarily_unavailable"]).nullable().optional(),
  /** Whether creates are refused because the site has no capacity. */
  capacity_full: z.boolean().optional(),
});
export type FaultSettings = z.infer<typeof faultsSchema>;

/** The faults in force. */
export class Faults {
  #failNextTasks = 0;
  unavailable: "api_unavailable" | "temporarily_unavailable" | null = null;
  capacityFull = false;

  apply(settings: FaultSettings): void {
    if (settings.fail_next_tasks !== undefined) this.#failNextTasks = settings.fail_next_tasks;
    if (settings.unavailable !== undefined) this.unavailable = settings.unavailable;
    if (settings.capacity_full !== undefined) this.capacityFull = settings.capacity_full;
  }

  /** Whether the task that is being created will fail; counts it. Must be called once per accepted task. */
  takeFailure(): boolean {
    if (this.#failNextTasks === 0) return false;
    this.#failNextTasks -= 1;
    return true;
  }
}
