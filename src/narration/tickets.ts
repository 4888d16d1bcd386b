/** Tickets of a narration: who waits for it without a call, how that ends, and what becomes of it when one is taken back. */
import type { NarrationState, NarrationTicket } from "./narration-state.ts";

/** A narration that has so many gets no further ones: its calls are answered as for clients that know no tasks. */
const MOST_TICKETS = 20;

const CANCELLED = {
  part: null,
  code: "cancelled",
  message: "It was cancelled: nothing more is created. What was accepted is saved.",
} as const;

export const ticketOf = ({ tickets }: NarrationState, openedAtMs: number): NarrationTicket | undefined =>
  tickets.find((ticket) => ticket.openedAtMs === openedAtMs);

/** The one that has not ended: all who ask while it runs share it. */
export const openTicket = ({ tickets }: NarrationState): NarrationTicket | undefined =>
  tickets.find(({ end }) => end === null);

/** The state of a narration that somebody has just asked for, with a ticket for it where it takes one. */
export function withTicket(state: NarrationState, nowMs: number): NarrationState {
  const { tickets, status } = state;
  if (status !== "running" || openTicket(state) !== undefined) return state;
  if (tickets.length >= MOST_TICKETS) return state;
  const openedAtMs = Math.max(nowMs, (tickets.at(-1)?.openedAtMs ?? 0) + 1);
  return { ...state, tickets: [...tickets, { openedAtMs, end: null }] };
}

/** The same for a call that is answered at its window's end. */
export const askedPlainly = (state: NarrationState): NarrationState =>
  state.status === "running" && !state.isAskedPlainly ? { ...state, isAskedPlainly: true } : state;

/** Once it runs no more, whoever waited for it is told how it stands then. */
export function settled(state: NarrationState, nowMs: number): NarrationState {
  const { status, problems, files, doubts, tickets } = state;
  if (status === "running" || (openTicket(state) === undefined && !state.isAskedPlainly)) return state;
  const end = { kind: "ended" as const, atMs: nowMs, status, problems, files, doubts };
  return {
    ...state,
    isAskedPlainly: false,
    tickets: tickets.map((ticket) => (ticket.end === null ? { ...ticket, end } : ticket)),
  };
}

/** A ticket was taken back: the narration stops, unless a call without one has asked for it as well. */
export function ticketCancelled(state: NarrationState, openedAtMs: number, nowMs: number): NarrationState {
  const ticket = ticketOf(state, openedAtMs);
  if (ticket === undefined || ticket.end !== null) return state;
  const end = { kind: "cancelled" as const, atMs: nowMs };
  const tickets = state.tickets.map((other) => (other === ticket ? { ...ticket, end } : other));
  const after = { ...state, tickets };
  return after.isAskedPlainly || openTicket(after) !== undefined ? after : stopped(after);
}

/** A call without a ticket was cancelled: the same, unless somebody has a ticket. */
export function callCancelled(state: NarrationState): NarrationState {
  return openTicket(state) === undefined ? stopped(state) : { ...state, isAskedPlainly: false };
}

const stopped = (state: NarrationState): NarrationState =>
  state.status === "running" ? { ...state, status: "stopped", problems: [CANCELLED] } : state;
