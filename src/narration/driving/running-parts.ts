/** Keeps the parts on which a driver works now, so that they can be aborted. */
import type { PartRequest } from "../../requests/use-cases/generate-part.ts";

/** The work of this process on one part. */
export interface RunningPart {
  /** Index of the part in the plan. */
  readonly partIndex: number;
  readonly request: PartRequest;
  /**
   * Aborts the work. If the submission was not sent yet, the job drops it. If the submission was sent, the job
   * completes its task.
   */
  readonly controller: AbortController;
}

/** Keeps an entry for each part on which a driver works now, so that the driver can abort the work. */
export class RunningParts {
  readonly #byPart = new Map<number, RunningPart>();
  /**
   * Parts whose submission the service has not accepted yet. Includes parts that `dropChanged` has removed, until their
   * work ends.
   */
  readonly #unaccepted = new Set<RunningPart>();

  get count(): number {
    return this.#byPart.size;
  }

  get indexes(): ReadonlySet<number> {
    return new Set(this.#byPart.keys());
  }

  get hasUnaccepted(): boolean {
    return this.#unaccepted.size > 0;
  }

  begin(partIndex: number, request: PartRequest, isSent: boolean): RunningPart {
    const runningPart = { partIndex, request, controller: new AbortController() };
    this.#byPart.set(partIndex, runningPart);
    if (!isSent) this.#unaccepted.add(runningPart);
    return runningPart;
  }

  /**
   * Notes that the service has accepted the submission of a part.
   *
   * @returns `false` if this was known before
   */
  markAccepted(runningPart: RunningPart): boolean {
    return this.#unaccepted.delete(runningPart);
  }

  /**
   * Removes a part whose work has ended.
   *
   * @returns `false` if `dropChanged` has already removed the part
   */
  end(runningPart: RunningPart): boolean {
    this.#unaccepted.delete(runningPart);
    return (
      this.#byPart.get(runningPart.partIndex) === runningPart && this.#byPart.delete(runningPart.partIndex)
    );
  }

  abortAll(): void {
    for (const { controller } of this.#byPart.values())
      controller.abort(new Error("the narration was stopped"));
  }

  /**
   * Aborts and removes the parts whose request has changed. Also removes the parts that are already aborted.
   *
   * @param requests the present request of each part of the plan, as JSON
   */
  dropChanged(requests: readonly string[]): void {
    for (const { partIndex, request, controller } of [...this.#byPart.values()]) {
      if (JSON.stringify(request) === requests[partIndex] && !controller.signal.aborted) continue;
      controller.abort(new Error("another take was chosen"));
      this.#byPart.delete(partIndex);
    }
  }
}
