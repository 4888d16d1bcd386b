/**
 * Drives requests: one loop over one row, from `waiting` to `saved`. A process drives a request while it holds the row's
 * lease; calls do not talk to the loop, they wait on the row. Retry, takeover and recovery are the same loop begun at
 * another status.
 */
import { AudioError, internalError } from "../errors.ts";
import { isAway, LeaseLostError } from "../ledger/ledger.ts";
import { runTransaction } from "../ledger/open-transaction.ts";
import {
  acquireRequest,
  listResumable,
  readRequest,
  releaseRequest,
  renewLeases,
  saveAsDriver,
  writeAsDriver,
} from "../ledger/request-rows.ts";
import type { RequestRow } from "../ledger/schema.ts";
import { toStoredError } from "../ledger/stored-error.ts";
import { endWishesFor } from "../ledger/wishes.ts";
import type { Activity } from "./activity.ts";
import { Changes, type Watch } from "./changes.ts";
import type { RequestDeps } from "./deps.ts";
import type { Job, StepDeps } from "./job.ts";
import { saveAudioOf } from "./save-step.ts";
import { getIds } from "./stored-input.ts";
import { SubmissionLine } from "./submission-line.ts";
import { assertOwnTask, forgetWrongId, submit } from "./submit-step.ts";
import { watchTask } from "./watch-step.ts";

export interface EnsureOptions {
  /** Whether to clear the error of an earlier start and to try again. */
  readonly retriesErrors?: boolean;
  /** Whether an answer with a task that had failed before leads to the next attempt. */
  readonly mayReplayFailed?: boolean;
}

/** How long the end of the program waits for the answer to a submission, whose task id is then stored. */
const FINAL_ANSWER_MS = 1200;
const PERSIST_RETRY_MS = 500;
/** A service that answers every submission with a failed task is not asked for ever. */
const MAX_REPLAYS = 2;
const MAX_RESUMED = 50;
const MIN_RESUME_INTERVAL_MS = 2000;
const ANY_REQUEST = "any";

interface RunningJob {
  readonly job: Job;
  readonly stop: AbortController;
  readonly sendStop: AbortController;
  readonly done: Promise<void>;
}

export class RequestDriver {
  readonly #deps: RequestDeps;
  readonly #jobs = new Map<string, RunningJob>();
  readonly #line: SubmissionLine;
  readonly #changes: Changes;
  /** What calls that ended while the ledger was away want no more, with the write that says so. */
  readonly #unendedWishes = new Map<string, () => Promise<unknown>>();
  #holders = 0;
  /** The narrations that this process drives. */
  readonly #narrations = new Set<string>();
  #isRenewing = false;
  #isClosing = false;
  readonly #closing = new AbortController();
  #lastResumeMs = Number.NEGATIVE_INFINITY;

  constructor(deps: RequestDeps) {
    this.#changes = new Changes(deps.clock);
    const onHold = (): void => {
      for (const requestId of this.#jobs.keys()) this.#changes.announce(requestId);
    };
    this.#line = new SubmissionLine(deps.clock, () => this.scheduleResume(), onHold, deps.log);
    this.#deps = deps;
  }

  isDriving(requestId: string): boolean {
    return this.#jobs.has(requestId);
  }

  /** Returns the row of a task that was accepted and could not be written yet; `null` if there is none. */
  findUnwritten(requestId: string): RequestRow | null {
    return this.#jobs.get(requestId)?.job.unwritten ?? null;
  }

  /** Drives a request in this process, unless a living process does. */
  ensure(requestId: string, { retriesErrors = false, mayReplayFailed = true }: EnsureOptions = {}): void {
    if (this.#isClosing || this.#jobs.has(requestId)) return;
    const stop = new AbortController();
    const sendStop = new AbortController();
    const job: Job = {
      requestId,
      signal: stop.signal,
      sendSignal: sendStop.signal,
      hadFailedAttempt: false,
      newTaskCount: 0,
      replaysLeft: mayReplayFailed ? MAX_REPLAYS : 0,
      mayHaveSent: false,
      hasLostAnswer: false,
      wasGone: false,
      hasAskedForId: false,
      isDoubtful: false,
      unwritten: null,
      sendingSinceMs: null,
      submitUntilMs: this.#deps.clock.steadyMs() + this.#deps.timing.recoveryTimeoutMs,
      failureCount: 0,
      lastError: null,
      askedAgain: new AbortController(),
    };
    const release = this.keepLeases();
    const done = this.#drive(this.#buildStepDeps(job), retriesErrors)
      .catch((cause: unknown) => this.#deps.log.warn(`request ${requestId} could not be driven`, cause))
      .finally(() => {
        this.#jobs.delete(requestId);
        release();
        this.#announce(requestId);
      });
    this.#jobs.set(requestId, { job, stop, sendStop, done });
  }

  /** Says that a call has asked for a request that may be waiting: for credits that may be there by now. */
  askAgain(requestId: string): void {
    this.#jobs.get(requestId)?.job.askedAgain.abort("asked again");
  }

  /** Says that a caller of a request has cancelled: before it is sent, it is looked whether anybody else wants it. */
  doubt(requestId: string): void {
    const running = this.#jobs.get(requestId);
    if (running !== undefined) running.job.isDoubtful = true;
  }

  /** Lets the first submission that waits ask again, because what is wanted, or a limit, has changed. */
  wake(): void {
    this.#line.wake();
  }

  /** Says who works on a request, and what holds it. */
  describe(row: RequestRow): Activity {
    const running = this.#jobs.get(row.id);
    const isHeldElsewhere = row.owner !== null && row.owner !== this.#deps.ledger.identity.processId;
    const isWaiting = row.status === "waiting" || row.status === "unresolved";
    const sinceMs = running?.job.sendingSinceMs ?? null;
    return {
      driver: running !== undefined ? "here" : isHeldElsewhere ? "elsewhere" : "none",
      hold: running !== undefined && isWaiting ? this.#line.hold : null,
      sendingMs: sinceMs === null ? null : this.#deps.clock.steadyMs() - sinceMs,
      nowMs: this.#deps.clock.wallMs(),
    };
  }

  /** Notices the changes that this process makes of a request. */
  watchChanges(requestId: string, signal: AbortSignal): Watch {
    return this.#changes.watch(requestId, signal);
  }

  /** Resolves at the next change that this process makes of any request, or after a time. */
  waitForAnyChange(maxMs: number, signal: AbortSignal): Promise<void> {
    return this.#changes.wait(ANY_REQUEST, maxMs, signal);
  }

  /**
   * Renews the leases and wishes of this process as long as somebody needs them.
   *
   * @param narrationId a narration that this process drives meanwhile
   * @returns a function to be called once when they are no longer needed
   */
  keepLeases(narrationId?: string): () => void {
    this.#holders += 1;
    if (narrationId !== undefined) this.#narrations.add(narrationId);
    void this.#renewWhileNeeded();
    let isReleased = false;
    return () => {
      if (!isReleased) this.#holders -= 1;
      isReleased = true;
      if (narrationId !== undefined) this.#narrations.delete(narrationId);
    };
  }

  /**
   * Ends the wish of a call now, or as soon as the ledger can be written: else it would pay for others.
   *
   * @param id what is ended; ending it again replaces the write
   */
  async endWish(id: string, write: () => Promise<unknown>): Promise<void> {
    this.#unendedWishes.set(id, write);
    await this.#tryToEndWishes();
  }

  /**
   * Ends the wishes that could not be ended yet. Comes before each admission, which they must not have.
   *
   * @throws AudioError `store_unavailable`
   */
  async endWishes(): Promise<void> {
    for (const [id, write] of this.#unendedWishes) {
      await write().catch((cause: unknown) => {
        if (isAway(cause)) throw cause;
        this.#deps.log.warn("a wish could not be ended", cause);
      });
      if (this.#unendedWishes.get(id) === write) this.#unendedWishes.delete(id);
    }
  }

  /** Resumes this API key's accepted tasks whose audio was never saved, unless that was done a moment ago. */
  scheduleResume(): void {
    const { clock, timing, log } = this.#deps;
    const nowMs = clock.steadyMs();
    const intervalMs = MIN_RESUME_INTERVAL_MS * Math.max(timing.timeScale, 0.05);
    if (this.#isClosing || nowMs - this.#lastResumeMs < intervalMs) return;
    this.#lastResumeMs = nowMs;
    listResumable(this.#deps.ledger, MAX_RESUMED)
      .then((ids) => {
        for (const id of ids) this.ensure(id, { retriesErrors: true });
      })
      // The call that has caused it uses the same ledger, and reports its failure.
      .catch((cause: unknown) => log.warn("open tasks could not be resumed", cause));
  }

  /** Stops all work. Waits a short time for answers to submissions that are under way. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const running = [...this.#jobs.values()];
    for (const { stop } of running) stop.abort(new Error("the program stops"));
    const timer = setTimeout(() => {
      this.#closing.abort("closing");
      for (const { sendStop } of running) sendStop.abort(new Error("the program stops"));
    }, FINAL_ANSWER_MS);
    await Promise.all(running.map(({ done }) => done));
    clearTimeout(timer);
    this.#closing.abort("closing");
  }

  #announce(requestId: string): void {
    for (const id of [requestId, ANY_REQUEST]) this.#changes.announce(id);
  }

  async #renewWhileNeeded(): Promise<void> {
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    const { clock, ledger, log } = this.#deps;
    try {
      while (this.#holders > 0 && !this.#closing.signal.aborted) {
        await clock.sleep(ledger.database.leaseMs / 3, this.#closing.signal);
        if (this.#holders === 0) break;
        await this.#tryToEndWishes();
        const driven = { requests: [...this.#jobs.keys()], narrations: [...this.#narrations] };
        await renewLeases(ledger, driven).then(
          (stillDriven) => this.#stopLost(stillDriven),
          (cause: unknown) => log.debug(`leases could not be renewed: ${String(cause)}`),
        );
      }
    } catch {
      // The program stops.
    } finally {
      this.#isRenewing = false;
    }
  }

  #tryToEndWishes(): Promise<void> {
    return this.endWishes().catch((cause: unknown) =>
      this.#deps.log.debug(`a wish could not be ended: ${String(cause)}`),
    );
  }

  /** Stops the jobs of requests that another process drives now. A row that has vanished is stored again by its job. */
  async #stopLost(driven: ReadonlySet<string>): Promise<void> {
    const { ledger } = this.#deps;
    for (const [id, { stop }] of this.#jobs) {
      if (driven.has(id)) continue;
      const row = await ledger.database.run((db) => readRequest(db, id)).catch(() => undefined);
      if (row !== undefined && row.owner !== null && row.owner !== ledger.identity.processId)
        stop.abort(new LeaseLostError("another process drives it"));
    }
  }

  #buildStepDeps(job: Job): StepDeps {
    const persistRow: StepDeps["persistRow"] = async (write) => {
      const row = await this.#persist(job, write);
      this.#announce(row.id);
      return row;
    };
    return {
      ...this.#deps,
      job,
      line: this.#line,
      announce: (row) => this.#announce(row.id),
      resumeOthers: () => this.scheduleResume(),
      endWishes: () => this.endWishes(),
      persist: (write) => this.#persist(job, write),
      persistRow,
      save: (row, patch) => persistRow(() => saveAsDriver(this.#deps.ledger, row, patch)),
    };
  }

  async #drive(deps: StepDeps, retriesErrors: boolean): Promise<void> {
    const { job, ledger } = deps;
    const cleared = retriesErrors ? { error: null, error_code: null } : {};
    const {
      row: acquired,
      isMine,
      earlierError,
    } = await deps.persist(() => acquireRequest(ledger, job.requestId, cleared));
    if (!isMine || acquired === undefined) return;
    job.wasGone = earlierError === "not_found";
    try {
      job.hadFailedAttempt = acquired.attempt > 1 || acquired.status === "failed";
      let row: RequestRow | null = acquired.error_code === null ? acquired : null;
      while (row !== null) row = await this.#step(deps, row);
    } finally {
      await releaseRequest(ledger, job.requestId).catch((cause: unknown) => deps.log.debug(String(cause)));
    }
  }

  /** Does what comes next for a row. Returns the row after it; `null` if this process has nothing more to do. */
  async #step(deps: StepDeps, row: RequestRow): Promise<RequestRow | null> {
    try {
      if (row.status !== "failed") await assertOwnTask(deps, row);
      switch (row.status) {
        case "waiting":
        case "unresolved":
          return await submit(deps, row);
        case "queued":
        case "processing":
          return await watchTask(deps, row);
        case "succeeded":
        case "saved":
          return await saveAudioOf(deps, row);
        case "failed":
          return null;
      }
    } catch (thrown) {
      return await this.#afterError(deps, row, thrown);
    }
  }

  /** Decides what an error of a step means: the ledger is waited for, everything else ends the work with its reason. */
  async #afterError(deps: StepDeps, row: RequestRow, thrown: unknown): Promise<RequestRow | null> {
    const { job, ledger, log, clock } = deps;
    if (thrown instanceof LeaseLostError || job.signal.aborted) return null;
    if (!(thrown instanceof AudioError)) log.error("a request failed unexpectedly", thrown);
    const failure = thrown instanceof AudioError ? thrown : internalError(thrown);
    const current = await ledger.database.run((db) => readRequest(db, row.id)).catch(() => undefined);
    if (isAway(failure)) {
      // The call may have said that the work goes on by itself, so it goes on when the ledger comes back.
      do {
        await clock.sleep(1000, job.signal).catch(() => undefined);
        // A wish that has ended meanwhile must let nothing be sent.
        await this.#tryToEndWishes();
      } while (this.#unendedWishes.size > 0 && !job.signal.aborted);
      return job.signal.aborted ? null : (current ?? row);
    }
    const unnamed = await forgetWrongId(deps, current ?? row, failure).catch(() => null);
    if (unnamed !== null && !job.hasAskedForId) {
      job.hasAskedForId = true;
      job.mayHaveSent = true;
      job.wasGone = false;
      return unnamed;
    }
    const error = failure.withIds(getIds(unnamed ?? row));
    await this.#end(deps, unnamed ?? current ?? row, error).catch((cause: unknown) => {
      if (!(cause instanceof LeaseLostError)) log.debug(`an error could not be stored: ${String(cause)}`);
    });
    return null;
  }

  /** Stores why nobody works on a request any more. Its wishes have come to their end with it. */
  async #end({ ledger, persist }: StepDeps, row: RequestRow, error: AudioError): Promise<void> {
    await persist(() =>
      runTransaction(ledger, async (open) => {
        const stored = JSON.stringify(toStoredError(error));
        await writeAsDriver(open, row, {
          error: stored,
          error_code: error.code,
          note: null,
          owner: null,
          lease_until_steady_ms: 0,
        });
        await endWishesFor(open.tx, [row.id]);
      }),
    );
    this.#announce(row.id);
  }

  /** Writes as soon as the ledger can be written. Gives up when the program or the job must end. */
  async #persist<T>(job: Job, write: () => Promise<T>): Promise<T> {
    const { clock, timing } = this.#deps;
    const untilMs = clock.steadyMs() + timing.recoveryTimeoutMs;
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (!isAway(error) || clock.steadyMs() > untilMs || this.#closing.signal.aborted) throw error;
        if (job.sendSignal.aborted) throw error;
        await clock.sleep(PERSIST_RETRY_MS, this.#closing.signal).catch(() => undefined);
      }
    }
  }
}
