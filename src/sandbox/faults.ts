/** Defines the faults that tests can switch on (docs/sandbox.md, Simulate failures). */
import { z } from "zod";

/** The body of `POST /sandbox/faults`. An omitted field leaves its fault unchanged. */
export const faultsSchema = z.strictObject({
  /** How many of the next tasks fail. Replaces the number set before. */
  fail_next_tasks: z.int().min(0).max(1_000_000).optional(),
  /** The error code of the 503 response to every authenticated request, or null to answer normally. */
  unavailable: z.enum(["api_unavailable", "temporarily_unavailable"]).nullable().optional(),
  /** If true, every submission is refused as if the service were at capacity. */
  capacity_full: z.boolean().optional(),
});
export type FaultSettings = z.infer<typeof faultsSchema>;

/** Stores which faults are switched on. */
export class Faults {
  #failNextTasks = 0;
  unavailable: "api_unavailable" | "temporarily_unavailable" | null = null;
  capacityFull = false;

  apply(settings: FaultSettings): void {
    if (settings.fail_next_tasks !== undefined) this.#failNextTasks = settings.fail_next_tasks;
    if (settings.unavailable !== undefined) this.unavailable = settings.unavailable;
    if (settings.capacity_full !== undefined) this.capacityFull = settings.capacity_full;
  }

  /**
   * Returns whether the next task must fail. If so, lowers the number of tasks that still have to fail. Must be called
   * exactly once per accepted task.
   */
  consumeFailure(): boolean {
    if (this.#failNextTasks === 0) return false;
    this.#failNextTasks -= 1;
    return true;
  }
}
