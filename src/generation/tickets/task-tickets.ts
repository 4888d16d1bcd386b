/** Calls that are answered as tasks of the protocol's extension: begun, looked at and taken back by their handles, in any process. */
import { failedEnd, ticketOf } from "../../ledger/record-tickets.ts";
import { fromStoredError } from "../../ledger/stored-error.ts";
import type { TicketEnd } from "../../ledger/ticket.ts";
import type { GenerationDeps } from "../deps.ts";
import type { Jobs } from "../job/jobs.ts";
import { describe } from "../job/phase.ts";
import type { Call } from "../job/wait-for-job.ts";
import type { TaskView } from "../task-view.ts";
import type { NameRequest } from "../use-cases/file-names.ts";
import type { Work } from "../use-cases/find-record.ts";
import { generateWork, taskFailed } from "../use-cases/generate.ts";
import { viewOfDone } from "./done-view.ts";
import { leadKnown } from "./lead.ts";
import { type Outcome, Outcomes, outcomeOfError } from "./outcomes.ts";
import type { Begun, TicketDesk, TicketStanding, WorkingTicket } from "./standing.ts";
import { ticketName } from "./ticket-handle.ts";
import { NoTicket, type OpenedTicket, SharedTicket, TicketRun } from "./ticket-run.ts";

const CANCELLED = "Cancelled before anything was sent: nothing was charged. The same call begins a new task.";

interface Running {
  readonly run: TicketRun;
  /** As it was when the run began: the ledger may lose its record meanwhile. */
  readonly begun: OpenedTicket;
  /** What it has come to, while that cannot be written down. */
  outcome: Outcome | null;
}

export class Tickets implements TicketDesk<TaskView> {
  readonly #deps: GenerationDeps;
  readonly #jobs: Jobs;
  /** By handle; only those that have not ended. */
  readonly #running = new Map<string, Running>();
  readonly #outcomes: Outcomes;
  #isClosed = false;

  constructor(deps: GenerationDeps, jobs: Jobs) {
    this.#deps = deps;
    this.#jobs = jobs;
    this.#outcomes = new Outcomes(deps, (recordId) => jobs.running(recordId) !== undefined);
  }

  /**
   * Begins a request in the background.
   *
   * @param call waits within its window where the request can have no ticket
   * @returns its ticket, once that is in the ledger; the view where nothing had to be made
   * @throws AudioError what is refused before the job begins
   */
  async begin(work: Work, request: NameRequest, call: Call): Promise<Begun<TaskView>> {
    call.signal.throwIfAborted();
    let tell: (opened: OpenedTicket) => void = () => undefined;
    const opened = new Promise<OpenedTicket>((resolve) => {
      tell = resolve;
    });
    const wish = { fileName: request.fileName, replace: request.replace ?? false };
    const onOpened = (ticket: OpenedTicket): void => {
      if (this.#running.has(ticket.handle)) throw new SharedTicket(ticket);
      this.#running.set(ticket.handle, { run, begun: ticket, outcome: null });
      tell(ticket);
    };
    const run = new TicketRun({ deps: this.#deps, wish, openedAtMs: null, onOpened });
    const giveUp = (): void => run.abort();
    call.signal.addEventListener("abort", giveUp, { once: true });
    const working = generateWork(this.#deps, this.#jobs, work, request, run.call());
    working.catch(() => undefined);
    try {
      const first = await Promise.race([opened, working]);
      if (!("handle" in first && "ticket" in first)) return { view: first };
      this.#follow(first.handle, run, working);
      return { ticket: this.#working(first) };
    } catch (error) {
      call.signal.throwIfAborted();
      if (error instanceof NoTicket) {
        return { view: await generateWork(this.#deps, this.#jobs, work, request, call) };
      }
      if (!(error instanceof SharedTicket)) throw error;
      return { ticket: this.#working(error.opened) };
    } finally {
      call.signal.removeEventListener("abort", giveUp);
    }
  }

  async look(handle: string): Promise<TicketStanding<TaskView> | null> {
    const found = await this.#find(handle);
    const running = this.#running.get(handle);
    if (found === null) {
      return running === undefined ? this.#outcomes.remembered(handle) : this.#working(running.begun);
    }
    const { record, ticket } = found;
    // It may have been taken back in another process.
    if (ticket.end?.kind === "cancelled") running?.run.abort();
    if (ticket.end !== null) return await this.#ended(found, ticket.end);
    if (running !== undefined) return this.#working(found);
    if (this.#jobs.running(record.recordId) === undefined) return await this.#lead(found);
    // A job that has just seen it fail may be about to make the free repeat.
    return isOver(found) ? this.#working(found) : this.#takeUp(found);
  }

  async cancel(handle: string): Promise<boolean> {
    const found = await this.#find(handle);
    if (found === null) return this.#outcomes.remembered(handle) !== null;
    const { record, ticket } = found;
    if (ticket.end !== null || (await this.#hasFailed(found))) return true;
    const { openedAtMs } = ticket;
    const atMs = this.#deps.clock.wallMs();
    const after = await this.#deps.ledger.apply(record, { kind: "ticketCancelled", openedAtMs, atMs });
    const end = after === null ? undefined : ticketOf(after, openedAtMs)?.end;
    if (end?.kind === "cancelled") this.#running.get(handle)?.run.abort();
    return true;
  }

  /** Nothing that ends from now on says anything about a request. */
  close(): void {
    this.#isClosed = true;
  }

  /** The ticket as it is stored; what this process knows of its end is written first. */
  async #find(handle: string): Promise<OpenedTicket | null> {
    const name = ticketName(handle);
    if (name === null) return null;
    const running = this.#running.get(handle);
    if (running?.outcome != null) await this.#write(handle, running.outcome);
    const record = await this.#deps.ledger.get(name.recordId);
    const ticket = record === null ? undefined : ticketOf(record, name.openedAtMs);
    return record === null || ticket === undefined ? null : { handle, record, ticket };
  }

  /** Whoever leads the record works for the ticket; where nobody does, this process goes on with it. */
  async #lead(found: OpenedTicket): Promise<TicketStanding<TaskView> | null> {
    const { ledger } = this.#deps;
    const lead = await leadKnown(ledger, found.record);
    if (lead === null) return this.#outcomes.remembered(found.handle);
    const { record: stored, isOurs } = lead;
    const ticket = ticketOf(stored, found.ticket.openedAtMs) ?? found.ticket;
    const now = { ...found, record: stored, ticket };
    if (!isOurs || this.#running.has(found.handle)) return this.#working(now);
    if (now.ticket.end === null && !isOver(now)) return this.#takeUp(now);
    const end = now.ticket.end ?? failedEnd(stored);
    const event = { kind: "ticketEnded", openedAtMs: now.ticket.openedAtMs, end } as const;
    await ledger.apply(stored, event, { lease: "release" });
    return await this.#ended(now, end);
  }

  /** Its attempt has failed, and no process is about to make the free repeat. */
  async #hasFailed(found: OpenedTicket): Promise<boolean> {
    if (!isOver(found) || this.#running.has(found.handle)) return false;
    return (await this.look(found.handle))?.kind === "error";
  }

  #takeUp(found: OpenedTicket): TicketStanding<TaskView> {
    const { handle, record, ticket } = found;
    const { input, take } = record;
    if (input === null || take === null) throw new Error("a ticket of a request that is not known");
    const { fileName, replace, openedAtMs } = ticket;
    const onOpened = (): void => undefined;
    const run = new TicketRun({ deps: this.#deps, wish: ticket, openedAtMs, onOpened });
    this.#running.set(handle, { run, begun: found, outcome: null });
    const work: Work = { input, take, fileName, shelf: "output" };
    const call = run.call();
    this.#follow(handle, run, generateWork(this.#deps, this.#jobs, work, { fileName, replace }, call));
    return this.#working(found);
  }

  #follow(handle: string, run: TicketRun, working: Promise<TaskView>): void {
    const settle = async (outcome: Outcome | null): Promise<void> => {
      const running = this.#running.get(handle);
      if (running?.run !== run) return;
      if (outcome === null || this.#isClosed) {
        this.#running.delete(handle);
        return;
      }
      running.outcome = outcome;
      await this.#write(handle, outcome);
    };
    working
      .then(
        (view) => settle(view.audio === null ? null : { kind: "view", view }),
        (thrown: unknown) => settle(outcomeOfError(thrown, run, this.#deps)),
      )
      .catch((cause: unknown) => this.#deps.log.warn("the end of a task could not be written yet", cause));
  }

  async #write(handle: string, outcome: Outcome): Promise<void> {
    await this.#outcomes.write(handle, outcome);
    this.#running.delete(handle);
  }

  async #ended(found: OpenedTicket, end: TicketEnd): Promise<TicketStanding<TaskView>> {
    const { record, ticket } = found;
    const told = { ...found, ticket: { ...ticket, end } };
    switch (end.kind) {
      case "done":
        return this.#standing(told, {
          kind: "done",
          view: await viewOfDone(this.#deps, this.#jobs, record, ticket),
        });
      case "cancelled":
        return this.#standing(told, { kind: "cancelled", message: CANCELLED });
      case "failed":
        // What the record says by now may be of a later attempt.
        return this.#standing(told, { kind: "error", error: taskFailed({ ...record, ...end }) });
      case "error":
        return this.#standing(told, { kind: "error", error: fromStoredError(end.error) });
    }
  }

  #working(found: OpenedTicket): WorkingTicket {
    return this.#standing(found, { kind: "working" as const, message: this.#words(found) });
  }

  /** The same sentence as a call would be told. */
  #words({ handle, record }: OpenedTicket): string {
    const job = this.#jobs.running(record.recordId);
    const kind = this.#running.has(handle) ? "starting" : "following";
    return describe(job?.phase ?? { kind }, job?.record ?? record, this.#deps.clock);
  }

  #standing<Kind>({ handle, record, ticket }: OpenedTicket, kind: Kind) {
    const { sentAtMs, acceptedAtMs, polledAtMs, finishedAtMs } = record;
    const times = [ticket.openedAtMs, sentAtMs ?? 0, acceptedAtMs ?? 0, polledAtMs ?? 0, finishedAtMs ?? 0];
    const updatedAtMs = ticket.end === null ? Math.max(...times) : ticket.end.atMs;
    return { handle, createdAtMs: ticket.openedAtMs, updatedAtMs, ...kind };
  }
}

const isOver = ({ record, ticket }: OpenedTicket): boolean =>
  record.status === "failed" && record.attempt >= ticket.attempt;
