/** Tickets: calls that were answered as tasks of the protocol's extension, as their record remembers them; a pure table. */
import type { TaskRecord } from "./record.ts";
import type { Ticket, TicketEnd } from "./ticket.ts";

/** What a call wants of its audio; calls that want the same share a ticket. */
export type TicketWish = Pick<Ticket, "fileName" | "replace">;

export type TicketEvent =
  | { readonly kind: "ticketOpened"; readonly wish: TicketWish; readonly atMs: number }
  /** It takes effect at once where nothing is sent yet, else where what was sent is certainly not taken. */
  | { readonly kind: "ticketCancelled"; readonly openedAtMs: number; readonly atMs: number }
  | { readonly kind: "ticketEnded"; readonly openedAtMs: number; readonly end: TicketEnd };

/** A record that has so many gets no further ones: its calls are answered as for clients that know no tasks. */
const MOST_TICKETS = 100;

const isWanted = ({ end, cancelAskedAtMs }: Ticket): boolean => end === null && cancelAskedAtMs === null;

/** The attempt that a call made now is about: one that failed is not tried again, but followed by the next. */
const attemptOfCall = ({ status, attempt }: TaskRecord): number => attempt + (status === "failed" ? 1 : 0);

export const ticketOf = (record: TaskRecord, openedAtMs: number): Ticket | undefined =>
  record.tickets.find((ticket) => ticket.openedAtMs === openedAtMs);

/** The ticket that a call with this wish shares; `undefined`: there is none. */
export function openTicket(record: TaskRecord, { fileName, replace }: TicketWish): Ticket | undefined {
  return record.tickets.find(
    (ticket) =>
      isWanted(ticket) &&
      ticket.fileName === fileName &&
      ticket.replace === replace &&
      (record.status !== "failed" || ticket.attempt > record.attempt),
  );
}

/** Whether anything is still to be made for a ticket; one that the record does not know was never taken back. */
export function isTicketWanted(record: TaskRecord, openedAtMs: number): boolean {
  const ticket = ticketOf(record, openedAtMs);
  return ticket === undefined || isWanted(ticket);
}

/** Whether somebody has taken a ticket back since the record was seen. */
export const isCancelNews = (seen: TaskRecord, now: TaskRecord): boolean =>
  now.tickets.some(({ openedAtMs }) => isTicketWanted(seen, openedAtMs) && !isTicketWanted(now, openedAtMs));

/** The record after an event of a ticket; the very same object where it is no news. */
export function stepTicket(record: TaskRecord, event: TicketEvent): TaskRecord {
  switch (event.kind) {
    case "ticketOpened":
      return opened(record, event.wish, event.atMs);
    case "ticketCancelled":
      return changed(record, (ticket) =>
        ticket.openedAtMs === event.openedAtMs && isWanted(ticket)
          ? { ...ticket, cancelAskedAtMs: event.atMs }
          : ticket,
      );
    case "ticketEnded":
      return changed(record, (ticket) =>
        ticket.openedAtMs === event.openedAtMs && ticket.end === null
          ? { ...ticket, end: event.end }
          : ticket,
      );
  }
}

function opened(record: TaskRecord, { fileName, replace }: TicketWish, nowMs: number): TaskRecord {
  const { tickets, taskId, status } = record;
  if (openTicket(record, { fileName, replace }) !== undefined || tickets.length >= MOST_TICKETS)
    return record;
  const ticket: Ticket = {
    openedAtMs: Math.max(nowMs, (tickets.at(-1)?.openedAtMs ?? 0) + 1),
    attempt: attemptOfCall(record),
    fileName,
    replace,
    replayed: taskId !== null && status !== "failed",
    cancelAskedAtMs: null,
    end: null,
  };
  return { ...record, tickets: [...tickets, ticket] };
}

function changed(record: TaskRecord, change: (ticket: Ticket) => Ticket): TaskRecord {
  const tickets = record.tickets.map(change);
  return tickets.every((ticket, index) => ticket === record.tickets[index]) ? record : { ...record, tickets };
}

/** Who was not wanted any more, while it could not be told what becomes of a send, is cancelled once nothing is sent. */
export function settleTickets(record: TaskRecord): TaskRecord {
  if (record.status !== "waiting") return record;
  return changed(record, (ticket) =>
    ticket.end === null && ticket.cancelAskedAtMs !== null
      ? { ...ticket, end: { kind: "cancelled", atMs: ticket.cancelAskedAtMs } }
      : ticket,
  );
}

/** What is told of a ticket whose attempt has failed, by the record as it stands then. */
export function failedEnd(record: TaskRecord): TicketEnd {
  const { taskId, idempotencyKey, billing, taskError, finishedAtMs, createdAtMs } = record;
  return { kind: "failed", atMs: finishedAtMs ?? createdAtMs, taskId, idempotencyKey, billing, taskError };
}

/** A new call begins the next attempt: tickets of those before end with the failure that is known now. */
export function ticketsOfFailed(record: TaskRecord): TaskRecord["tickets"] {
  return record.tickets.map((ticket) =>
    ticket.end === null && ticket.attempt <= record.attempt ? { ...ticket, end: failedEnd(record) } : ticket,
  );
}
