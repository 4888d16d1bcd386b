/** One process's work for a ticket: a call that waits as long as it takes, and whose caller asks by the handle. */
import type { TaskRecord } from "../../ledger/record.ts";
import { openTicket, type TicketWish, ticketOf } from "../../ledger/record-tickets.ts";
import type { Ticket } from "../../ledger/ticket.ts";
import type { GenerationDeps } from "../deps.ts";
import type { Call, TicketOfCall } from "../job/wait-for-job.ts";
import { taskFailed } from "../use-cases/generate.ts";
import { ticketHandle } from "./ticket-handle.ts";

/** Its request cannot have a ticket: it is answered as for clients that know no tasks. */
export class NoTicket extends Error {
  override readonly name = "NoTicket";
}

/** Nothing is to be done for the ticket any more. */
export class TicketOver extends Error {
  override readonly name = "TicketOver";
}

/** The same ticket is worked for in this process already. */
export class SharedTicket extends Error {
  override readonly name = "SharedTicket";
  readonly opened: OpenedTicket;

  constructor(opened: OpenedTicket) {
    super("the ticket is shared with an earlier call");
    this.opened = opened;
  }
}

export interface OpenedTicket {
  readonly handle: string;
  readonly record: TaskRecord;
  readonly ticket: Ticket;
}

/** An attempt can take so many recovery windows: to be accepted, to be watched, to be saved; and once more. */
const WINDOWS = 6;

export interface TicketRunOptions {
  readonly deps: GenerationDeps;
  readonly wish: TicketWish;
  /** Of a ticket that is there already. */
  readonly openedAtMs: number | null;
  /** Told of the ticket before its job begins. @throws SharedTicket */
  readonly onOpened: (opened: OpenedTicket) => void;
}

export class TicketRun implements TicketOfCall {
  readonly #options: TicketRunOptions;
  readonly #abort = new AbortController();
  #openedAtMs: number | null;

  constructor(options: TicketRunOptions) {
    this.#options = options;
    this.#openedAtMs = options.openedAtMs;
  }

  get isTakenUp(): boolean {
    return this.#options.openedAtMs !== null;
  }

  get openedAtMs(): number | null {
    return this.#openedAtMs;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Nobody waits any more. */
  abort(): void {
    this.#abort.abort(new TicketOver("the ticket was taken back"));
  }

  /** The call that is made for it. */
  call(): Call {
    const { timing } = this.#options.deps;
    const windowMs = WINDOWS * timing.recoveryMs;
    return { signal: this.signal, windowMs, onProgress: () => undefined, ticket: this };
  }

  async enter(asked: TaskRecord): Promise<TaskRecord> {
    if (this.#openedAtMs === null) return await this.#open(asked);
    const ticket = ticketOf(asked, this.#openedAtMs);
    if (ticket === undefined || ticket.end !== null) throw new TicketOver("the ticket has ended");
    // Another attempt is for another call to make.
    if (asked.status === "failed" && asked.attempt >= ticket.attempt) throw taskFailed(asked);
    return asked;
  }

  async #open(asked: TaskRecord): Promise<TaskRecord> {
    const { deps, wish, onOpened } = this.#options;
    const { ledger, clock } = deps;
    const isSavedSomewhere = asked.status === "succeeded" && asked.files.length > 0;
    if (isSavedSomewhere) throw new NoTicket("nothing has to be made");
    // Written, and led by this process, before the ticket stands in it: no other process sends it meanwhile.
    const claimed = await ledger.claim(asked);
    const opened = { kind: "ticketOpened", wish, atMs: clock.wallMs() } as const;
    const record = (await ledger.apply(claimed.record, opened)) ?? claimed.record;
    const ticket = openTicket(record, wish);
    if (ticket === undefined) throw new NoTicket("the record has as many tickets as it takes");
    this.#openedAtMs = ticket.openedAtMs;
    const { openedAtMs } = ticket;
    onOpened({ handle: ticketHandle({ recordId: record.recordId, openedAtMs }), record, ticket });
    // What is sent now takes the name of this call.
    return { ...record, fileName: asked.fileName, replaces: asked.replaces };
  }
}
