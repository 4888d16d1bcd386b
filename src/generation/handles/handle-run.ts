/** One process's work for a handle: a call that waits as long as it takes, and whose caller asks by the handle. */
import { randomUUID } from "node:crypto";
import type { TaskRecord } from "../../ledger/record.ts";
import type { Handle, Wish } from "../../ledger/rules/handles.ts";
import type { GenerationDeps } from "../deps.ts";
import type { Call, CallHandle } from "../job/wait-for-job.ts";
import { taskFailed } from "../task-failed.ts";

/** Its request is answered as for clients that know no tasks. */
export class NoHandleNeeded extends Error {
  override readonly name = "NoHandleNeeded";
}

/** Nothing is to be done for the handle any more, or not by this run. */
export class HandleEnded extends Error {
  override readonly name = "HandleEnded";
}

/** A handle, and the record that it is for. */
export interface OpenHandle {
  readonly handle: Handle;
  readonly record: TaskRecord;
}

/** An attempt can take so many recovery windows: to be accepted, to be watched, to be saved; and once more. */
const WINDOWS = 6;

/** Whether the attempt that was made for a handle has failed. */
export const hasFailedAttempt = ({ record, handle }: OpenHandle): boolean =>
  record.status === "failed" && record.attempt >= handle.attempt;

export class HandleRun implements CallHandle {
  readonly isResumed: boolean;
  readonly #deps: GenerationDeps;
  readonly #onOpened: (opened: OpenHandle) => void;
  readonly #wish: Wish;
  readonly #abort = new AbortController();
  #handle: Handle | null;

  /**
   * @param known a handle that another process had begun to work for; `null`: it is opened by this run
   * @param onOpened called with the handle before its job begins; throws where another run works for it
   */
  constructor(
    deps: GenerationDeps,
    known: Handle | null,
    wish: Wish,
    onOpened: (opened: OpenHandle) => void,
  ) {
    this.#deps = deps;
    this.#handle = known;
    this.#wish = wish;
    this.#onOpened = onOpened;
    this.isResumed = known !== null;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Nobody waits any more. */
  abort(): void {
    this.#abort.abort(new HandleEnded("the handle was cancelled"));
  }

  /** The call that is made for it. */
  call(): Call {
    const windowMs = WINDOWS * this.#deps.timing.recoveryMs;
    return { signal: this.signal, windowMs, onProgress: () => undefined, handle: this };
  }

  async enter(asked: TaskRecord): Promise<TaskRecord> {
    if (this.#handle === null) return await this.#open(asked);
    const handle = await this.#deps.ledger.store.handle(this.#handle.handle);
    if (handle === null || handle.endedAtMs !== null) throw new HandleEnded("the handle has ended");
    // Another attempt is for another call to make.
    if (hasFailedAttempt({ record: asked, handle })) throw taskFailed(asked);
    return asked;
  }

  async #open(asked: TaskRecord): Promise<TaskRecord> {
    const { ledger, clock } = this.#deps;
    const isSavedSomewhere = asked.status === "succeeded" && asked.files.length > 0;
    if (isSavedSomewhere) throw new NoHandleNeeded("nothing has to be made");
    // Written, and led by this process, before the handle is open: no other process sends it meanwhile.
    const { record } = await ledger.claim(asked);
    const { accountId, recordId: targetId } = record;
    const draft = { handle: randomUUID(), accountId, targetId, openedAtMs: clock.wallMs() };
    this.#handle = await ledger.store.openHandle(draft, this.#wish);
    if (this.#handle === null) throw new NoHandleNeeded("the ledger has lost the record");
    this.#onOpened({ handle: this.#handle, record });
    // What is sent now takes the name of this call.
    return { ...record, fileName: asked.fileName, replaces: asked.replaces };
  }
}
