/**
 * How a call waits: on the row, whichever process drives it. A call makes sure that somebody drives, and reads the row
 * until what it waits for is there or its time is over.
 */
import { isCancelledByCaller } from "../call-cancellation.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { AudioError } from "../errors.ts";
import { isAway, type Ledger } from "../ledger/ledger.ts";
import { readRequest } from "../ledger/request-rows.ts";
import type { RequestRow } from "../ledger/schema.ts";
import { fromStoredError, parseRequestError } from "../ledger/stored-error.ts";
import { endWish, hasWish } from "../ledger/wishes.ts";
import { describeActivity, explainActivity, UNANSWERED_AFTER_MS } from "./activity.ts";
import type { CallWithDeadline } from "./call.ts";
import type { Watch } from "./changes.ts";
import type { RequestDeps } from "./deps.ts";
import type { RequestDriver } from "./driver.ts";
import { isOver } from "./job.ts";
import { parseNote } from "./note.ts";
import { getIdempotencyKey, getIds } from "./stored-input.ts";

/**
 * How often a call looks, and reads, while this process drives the row, whose changes are announced; and how often a
 * sentence is told again of which only the times have changed, so that nobody believes that all is dead.
 */
const LOOK_OWN_MS = 10_000;
/** Another process may withdraw a call that is answered as an MCP task; and a send may stay without an answer. */
const LOOK_CLOSELY_MS = 1000;
/** The changes of a row that another process drives are seen only by reading. */
const READ_OTHER_MS = 150;
/** A client that has cancelled a call repeats it within this time, or not at all. */
const REPEATED_WITHIN_MS = 3_600_000;

export interface AttendOptions {
  readonly call: CallWithDeadline;
  /** The wish of the call; `null` for a call that only looks. */
  readonly wishId: string | null;
  readonly isDone: (row: RequestRow) => boolean | Promise<boolean>;
  /** Whether a process has to drive the row, so that this one does if nobody does. */
  readonly mustDrive: boolean;
}

/** Watches over the calls of this process that wait for a request, to recognise a client's repeat. */
export class Attendance {
  readonly #deps: RequestDeps;
  readonly #driver: RequestDriver;
  /** The plain calls that wait now, and since when on the steady clock. */
  readonly #waits = new Set<{ readonly requestId: string; readonly sinceMs: number }>();
  /** When the newest plain call for each request was cancelled, on the steady clock. */
  readonly #cancelledAtMs = new Map<string, number>();

  constructor(deps: RequestDeps, driver: RequestDriver) {
    this.#deps = deps;
    this.#driver = driver;
  }

  /**
   * Whether a call most likely repeats one that its client has given up: the earlier call was cancelled, or has waited
   * for 2 s or more. The client would give up a long second call, too.
   */
  takeLikelyRepeat(requestId: string): boolean {
    const nowMs = this.#deps.clock.steadyMs();
    const wasCancelled =
      nowMs - (this.#cancelledAtMs.get(requestId) ?? Number.NEGATIVE_INFINITY) < REPEATED_WITHIN_MS;
    this.#cancelledAtMs.delete(requestId);
    const waits = [...this.#waits].filter((wait) => wait.requestId === requestId);
    return wasCancelled || waits.some(({ sinceMs }) => nowMs - sinceMs >= 2000);
  }

  /**
   * Waits until `isDone`, or until the call's time is over.
   *
   * @returns the row as it was read last
   * @throws the signal's reason; AudioError `store_unavailable` if the ledger is still away at the end
   */
  async attend(row: RequestRow, options: AttendOptions): Promise<RequestRow> {
    const { call, wishId } = options;
    const release = this.#driver.keepLeases();
    const wait = { requestId: row.id, sinceMs: this.#deps.clock.steadyMs() };
    if (call.handle === undefined) this.#waits.add(wait);
    const changes = this.#driver.watchChanges(row.id, call.signal);
    let last = row;
    let hasFailed = false;
    try {
      last = await this.#read(row, options, changes);
      return last;
    } catch (error) {
      hasFailed = isAway(error);
      throw error;
    } finally {
      release();
      changes.close();
      this.#waits.delete(wait);
      const isCancelled = call.signal.aborted && isCancelledByCaller(call.signal.reason);
      if (isCancelled) this.#driver.doubt(row.id);
      if (isCancelled && call.handle === undefined) this.#noteCancelled(row.id);
      if (wishId !== null) await this.#endWish(wishId, last, isCancelled || hasFailed, call);
    }
  }

  #noteCancelled(requestId: string): void {
    const nowMs = this.#deps.clock.steadyMs();
    for (const [id, atMs] of this.#cancelledAtMs)
      if (nowMs - atMs >= REPEATED_WITHIN_MS) this.#cancelledAtMs.delete(id);
    this.#cancelledAtMs.set(requestId, nowMs);
  }

  /** The work of a call that has returned goes on by itself, unless the caller was told that the call has failed. */
  async #endWish(
    wishId: string,
    row: RequestRow,
    isWithdrawn: boolean,
    call: CallWithDeadline,
  ): Promise<void> {
    const isEnded = isOver(row) || row.status === "saved";
    if (call.handle !== undefined && !isWithdrawn && !isEnded) return;
    const as = isWithdrawn || isEnded ? "withdrawn" : "self";
    await this.#driver.endWish(wishId, () => endWish(this.#deps.ledger, wishId, as));
    if (isWithdrawn) this.#driver.wake();
  }

  async #read(
    first: RequestRow,
    { call, wishId, isDone, mustDrive }: AttendOptions,
    changes: Watch,
  ): Promise<RequestRow> {
    const { ledger, log, clock } = this.#deps;
    let readAtMs = clock.steadyMs();
    let hasChanged = true;
    let row = first;
    let before = first;
    let told = "";
    let toldAtMs = readAtMs;
    for (let isFirst = true; ; isFirst = false) {
      call.signal.throwIfAborted();
      try {
        const unwritten = this.#driver.findUnwritten(first.id);
        if (unwritten !== null) row = unwritten;
        else if (!isFirst && (hasChanged || clock.steadyMs() - readAtMs >= LOOK_OWN_MS)) {
          row = (await ledger.database.run((db) => readRequest(db, first.id))) ?? row;
          readAtMs = clock.steadyMs();
        }
        if (await isDone(row)) return row;
        const isUnsent = row.task_id === null && row.maybe === 0;
        if (call.handle !== undefined && wishId !== null && isUnsent && !(await hasWish(ledger, wishId)))
          return row;
      } catch (error) {
        // A ledger that is away is waited for: it may have the result by the end of the call.
        if (!isAway(error) || call.deadline.isOver) throw error;
        log.debug(`a waiting call could not read the ledger: ${String(error)}`);
      }
      if (
        mustDrive &&
        !isOver(row) &&
        !this.#driver.isDriving(row.id) &&
        !(await isDriven(this.#deps.ledger, row))
      )
        this.#driver.ensure(row.id, { mayReplayFailed: call.handle === undefined });
      for (const event of describeEvents(before, row)) call.onProgress(event);
      before = row;
      const activity = this.#driver.describe(row);
      const sentence = describeActivity(row, activity);
      const seen = `${sentence.replace(/\d+ s/g, "")}${row.polled_steady_ms}`;
      if (seen !== told || clock.steadyMs() - toldAtMs >= LOOK_OWN_MS) {
        call.onProgress(sentence);
        told = seen;
        toldAtMs = clock.steadyMs();
      }
      if (call.deadline.isOver) return row;
      const isOwn = this.#driver.isDriving(row.id);
      const looksClosely = call.handle !== undefined || activity.sendingMs !== null;
      const lookMs = looksClosely ? LOOK_CLOSELY_MS : LOOK_OWN_MS;
      const pauseMs = Math.min(isOwn ? lookMs : READ_OTHER_MS, call.deadline.leftMs);
      const isAnnounced = await changes.wait(pauseMs);
      hasChanged = isAnnounced || !isOwn || !this.#driver.isDriving(row.id) || call.deadline.isOver;
    }
  }
}

/** Says what has happened to a request between two looks. */
function describeEvents(before: RequestRow, row: RequestRow): string[] {
  return [
    ...(row.attempt > before.attempt ? ["The task failed and was refunded; trying once more."] : []),
    ...(row.task_id !== null && row.task_id !== before.task_id
      ? [`Accepted as task ${row.task_id}; ${RESERVED_CREDITS} credits are reserved.`]
      : []),
  ];
}

/** Whether a living process drives a request. While the ledger is away, it may. */
const isDriven = (
  { database }: Ledger,
  row: Pick<RequestRow, "owner" | "lease_until_steady_ms">,
): Promise<boolean> =>
  row.owner === null
    ? Promise.resolve(false)
    : database.snapshot(async (_tx, nowSteadyMs) => database.isHeld(row, nowSteadyMs)).catch(() => true);

/** Restores the reason why nobody works on a request, with its ids; `null` if there is none. */
export const restoreError = (row: RequestRow): AudioError | null =>
  parseRequestError(row)?.withIds(getIds(row)) ?? null;

/**
 * Throws if the service could not be reached, or has not answered, before the call's time was over.
 *
 * @param callMs how long the call has lasted
 */
export function throwIfUnreachable(row: RequestRow, driver: RequestDriver, callMs: number): void {
  if (row.task_id !== null) return;
  const ids = { idempotencyKey: getIdempotencyKey(row) ?? undefined };
  const note = parseNote(row);
  if (note?.kind === "retrying" && note.error !== undefined) throw fromStoredError(note.error).withIds(ids);
  const { sendingMs } = driver.describe(row);
  if (sendingMs === null || note?.kind === "unavailable") return;
  const hadWaited = callMs - sendingMs > 1000;
  if (sendingMs < UNANSWERED_AFTER_MS && hadWaited) return;
  throw new AudioError("timeout", "The service has not answered the request yet.", {
    retryable: true,
    ...ids,
  });
}

/**
 * Returns the sentence about an unfinished request for a call that stops waiting; `null` if its status is enough.
 *
 * @param driver `null` in a program that drives nothing
 */
export async function findActivity(
  { ledger }: Pick<RequestDeps, "ledger">,
  row: RequestRow,
  driver: RequestDriver | null,
): Promise<string | null> {
  const activity = driver?.describe(row) ?? {
    driver: row.owner === null ? "none" : "elsewhere",
    hold: null,
    sendingMs: null,
    nowMs: ledger.clock.wallMs(),
  };
  const isHeld = activity.driver !== "elsewhere" || (await isDriven(ledger, row));
  return explainActivity(row, isHeld ? activity : { ...activity, driver: "none" });
}
