/** Requests that are asked about by handles: begun, looked at and cancelled, in any process. */
import { AudioError, ownMistake } from "../../errors.ts";
import {
  failedAttempt,
  type Handle,
  type HandleEnd,
  type RequestEnd,
  requestEndSchema,
} from "../../ledger/rules/handles.ts";
import { fromStoredError, toStoredError } from "../../ledger/stored-error.ts";
import type { GenerationDeps } from "../deps.ts";
import type { Jobs } from "../job/jobs.ts";
import { describe } from "../job/phase.ts";
import type { Call } from "../job/wait-for-job.ts";
import type { TaskView } from "../task-view.ts";
import type { NameRequest } from "../use-cases/file-names.ts";
import type { Work } from "../use-cases/find-record.ts";
import { generateWork, taskFailed } from "../use-cases/generate.ts";
import { viewOfDone } from "./done-view.ts";
import { HandleOver, HandleRun, isOver, NoHandle, type Opened } from "./handle-run.ts";
import { type Begun, type HandleWork, type Standing, standing, type Working } from "./standing.ts";

const CANCELLED = "Cancelled before anything was sent: nothing was charged. The same call begins a new task.";

interface Running {
  readonly run: HandleRun;
  /** As it was when the run began, because the ledger may lose the record meanwhile. */
  readonly begun: Opened;
  /** What it has come to, while that cannot be written down. */
  end: RequestEnd | null;
}

export class RequestHandles implements HandleWork<TaskView> {
  readonly #deps: GenerationDeps;
  readonly #jobs: Jobs;
  /** By handle; only those that have not ended. */
  readonly #running = new Map<string, Running>();
  #isClosed = false;

  constructor(deps: GenerationDeps, jobs: Jobs) {
    this.#deps = deps;
    this.#jobs = jobs;
  }

  /**
   * Begins a request in the background.
   *
   * @param call waits within its window where the request gets no handle
   * @returns its handle, once that is in the ledger; the view where nothing had to be made
   * @throws AudioError what is refused before the job begins
   */
  async begin(work: Work, request: NameRequest, call: Call): Promise<Begun<TaskView>> {
    call.signal.throwIfAborted();
    const opening = Promise.withResolvers<Opened>();
    const wish = { fileName: request.fileName, replace: request.replace ?? false };
    const run = new HandleRun(this.#deps, null, wish, (opened) => {
      opening.resolve(opened);
      const { handle } = opened.handle;
      if (this.#running.has(handle)) throw new HandleOver("an earlier call works for the handle");
      this.#running.set(handle, { run, begun: opened, end: null });
    });
    const giveUp = (): void => run.abort();
    call.signal.addEventListener("abort", giveUp, { once: true });
    const view = generateWork(this.#deps, this.#jobs, work, request, run.call());
    view.catch(() => undefined);
    try {
      const first = await Promise.race([opening.promise, view]);
      if (!("record" in first)) return { view: first };
      this.#follow(first.handle, run, view);
      return { working: this.#working(first) };
    } catch (error) {
      call.signal.throwIfAborted();
      if (!(error instanceof NoHandle)) throw error;
      return { view: await generateWork(this.#deps, this.#jobs, work, request, call) };
    } finally {
      call.signal.removeEventListener("abort", giveUp);
    }
  }

  async look(known: Handle): Promise<Standing<TaskView> | null> {
    const handle = await this.#settled(known);
    const running = this.#running.get(handle.handle);
    // It may have been cancelled in another process.
    if (handle.end?.kind === "cancelled") running?.run.abort();
    const record = (await this.#deps.ledger.get(handle.targetId)) ?? running?.begun.record;
    if (record === undefined) return null;
    const opened = { handle, record };
    if (handle.end !== null) return await this.#ended(opened, handle.end);
    if (running !== undefined) return this.#working(opened);
    if (this.#jobs.running(record.recordId) === undefined) return await this.#lead(opened);
    // A job that has just seen it fail may be about to make the free repeat.
    return isOver(opened) ? this.#working(opened) : this.#takeUp(opened);
  }

  async cancel(known: Handle): Promise<void> {
    const handle = await this.#settled(known);
    const running = this.#running.get(handle.handle);
    const { ledger, clock } = this.#deps;
    const record = handle.end === null ? await ledger.get(handle.targetId) : null;
    // Its attempt has failed, and no process is about to make the free repeat: then that is its end.
    if (record !== null && running === undefined && isOver({ record, handle })) await this.look(handle);
    const { end } = await ledger.store.cancelHandle(handle, clock.wallMs());
    if (end?.kind === "cancelled") running?.run.abort();
  }

  /** Nothing that ends from now on says anything about a request. */
  close(): void {
    this.#isClosed = true;
  }

  /** The handle as it is stored, after what this process knows of its end is written. */
  async #settled(handle: Handle): Promise<Handle> {
    const end = this.#running.get(handle.handle)?.end ?? null;
    return end === null ? handle : await this.#write(handle, end);
  }

  /** The process that leads the record works for the handle; where none does, this one goes on with it. */
  async #lead(known: Opened): Promise<Standing<TaskView>> {
    const { store } = this.#deps.ledger;
    const { record, isOurs } = await this.#deps.ledger.claim(known.record);
    const handle = (await store.handle(known.handle.handle)) ?? known.handle;
    const opened = { handle, record };
    if (!isOurs || this.#running.has(handle.handle)) return this.#working(opened);
    if (handle.end === null && !isOver(opened)) return this.#takeUp(opened);
    const { end, atMs } = failedAttempt(record);
    const ended = await store.endHandle(handle, end, atMs);
    await store.release(record.recordId);
    return await this.#ended({ handle: ended, record }, ended.end ?? end);
  }

  #takeUp(opened: Opened): Working {
    const { handle, record } = opened;
    const { input, take } = record;
    if (input === null || take === null) throw new Error("a handle of a request that is not known");
    const { fileName } = handle.wish;
    const run = new HandleRun(this.#deps, handle, handle.wish, () => undefined);
    this.#running.set(handle.handle, { run, begun: opened, end: null });
    const work: Work = { input, take, fileName, shelf: "output" };
    this.#follow(handle, run, generateWork(this.#deps, this.#jobs, work, handle.wish, run.call()));
    return this.#working(opened);
  }

  #follow(handle: Handle, run: HandleRun, view: Promise<TaskView>): void {
    const settle = async (end: RequestEnd | null): Promise<void> => {
      const running = this.#running.get(handle.handle);
      if (running?.run !== run) return;
      running.end = this.#isClosed ? null : end;
      if (running.end === null) this.#running.delete(handle.handle);
      else await this.#write(handle, running.end);
    };
    view
      .then(
        ({ audio }) => settle(audio === null ? null : { kind: "done" }),
        (thrown: unknown) => settle(this.#endOfError(thrown, run)),
      )
      .catch((cause: unknown) => this.#deps.log.warn("the end of a task could not be written yet", cause));
  }

  /** `null`: it says nothing about the request; the next look goes on with it. */
  #endOfError(thrown: unknown, run: HandleRun): RequestEnd | null {
    if (run.signal.aborted || thrown instanceof HandleOver) return null;
    if (!(thrown instanceof AudioError)) this.#deps.log.error("a task failed unexpectedly", thrown);
    const error = thrown instanceof AudioError ? thrown : ownMistake(thrown);
    // A store that is away, or a process that stops.
    const isPassing = error.code === "store_unavailable" || error.code === "timeout";
    return isPassing ? null : { kind: "error", error: toStoredError(error) };
  }

  async #write(handle: Handle, end: RequestEnd): Promise<Handle> {
    const { ledger, clock } = this.#deps;
    const { targetId: recordId } = handle;
    const record = end.kind === "error" ? await ledger.get(recordId) : null;
    const lead = record === null ? null : await ledger.claim(record);
    // The process that leads it may be about to try once more, and writes what becomes of that.
    const isOthers = lead?.isOurs === false;
    const ended = isOthers ? handle : await ledger.store.endHandle(handle, end, clock.wallMs());
    const isLeft = lead?.isOurs === true && this.#jobs.running(recordId) === undefined;
    if (isLeft) await ledger.store.release(recordId);
    this.#running.delete(handle.handle);
    return ended;
  }

  async #ended({ handle, record }: Opened, stored: HandleEnd): Promise<Standing<TaskView>> {
    const end = requestEndSchema.parse(stored);
    switch (end.kind) {
      case "done": {
        const view = await viewOfDone(this.#deps, this.#jobs, record, handle.wish);
        return standing(handle, { kind: "done", view });
      }
      case "cancelled":
        return standing(handle, { kind: "cancelled", message: CANCELLED });
      case "failed":
        return standing(handle, { kind: "error", error: taskFailed(end) });
      case "error":
        return standing(handle, { kind: "error", error: fromStoredError(end.error) });
    }
  }

  /** The same sentence as a call would get. */
  #working({ handle, record }: Opened): Working {
    const job = this.#jobs.running(record.recordId);
    const kind = this.#running.has(handle.handle) ? "starting" : "following";
    const message = describe(job?.phase ?? { kind }, job?.record ?? record, this.#deps.clock);
    const { sentAtMs, acceptedAtMs, polledAtMs, finishedAtMs } = record;
    const heardAtMs = Math.max(sentAtMs ?? 0, acceptedAtMs ?? 0, polledAtMs ?? 0, finishedAtMs ?? 0);
    return standing(handle, { kind: "working", message }, heardAtMs);
  }
}
