/** Tickets of a narration: who waits for it without a call, how that ends, and what becomes of it when one is taken back. */
import { type HolderId, isHolderGone } from "../holder.ts";
import type { NarrationFigures, NarrationState, NarrationTicket } from "./narration-state.ts";

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

/** The same for a call that is answered at its window's end. @param asker its process */
export const askedPlainly = (state: NarrationState, asker: HolderId): NarrationState =>
  state.status === "running" && !state.plainAskers.includes(asker)
    ? { ...state, plainAskers: [...state.plainAskers.filter(isAlive), asker] }
    : state;

/** Before it is gone on with after its process has ended: what was asked for there has ended with it. */
export const leftByOthers = (state: NarrationState, self: HolderId): NarrationState =>
  state.plainAskers.some((asker) => asker !== self)
    ? { ...state, plainAskers: state.plainAskers.filter((asker) => asker === self) }
    : state;

/** Whether somebody who waits for it is to be told how it ended. */
export const isToSettle = (state: NarrationState): boolean =>
  state.status !== "running" && openTicket(state) !== undefined;

/** Once it runs no more, nobody asks for it. */
export const unasked = (state: NarrationState): NarrationState =>
  state.status === "running" || state.plainAskers.length === 0 ? state : { ...state, plainAskers: [] };

/** How the narration stands when a ticket ends, which is told of that for ever. */
export interface MomentOfEnd {
  readonly atMs: number;
  readonly figures: NarrationFigures;
}

/** Once it runs no more, whoever waited for it is told how it stands then. */
export function settled(state: NarrationState, moment: MomentOfEnd): NarrationState {
  const { status, problems, files, tickets } = state;
  if (status === "running") return state;
  const end = { kind: "ended" as const, ...moment, status, problems, files };
  return {
    ...state,
    tickets: tickets.map((ticket) => (ticket.end === null ? { ...ticket, end } : ticket)),
  };
}

/** A ticket was taken back: the narration stops, unless a call without one has asked for it as well. */
export function ticketCancelled(
  state: NarrationState,
  openedAtMs: number,
  moment: MomentOfEnd,
): NarrationState {
  const ticket = ticketOf(state, openedAtMs);
  if (ticket === undefined || ticket.end !== null) return state;
  const isLeftRunning = state.plainAskers.some(isAlive);
  const end = { kind: "cancelled" as const, ...moment, isLeftRunning };
  const after = {
    ...state,
    tickets: state.tickets.map((other) => (other === ticket ? { ...ticket, end } : other)),
  };
  return isLeftRunning ? after : stopped(after);
}

/** A call without a ticket was cancelled: the same, unless somebody has a ticket. */
export function callCancelled(state: NarrationState, asker: HolderId): NarrationState {
  if (openTicket(state) === undefined) return stopped(state);
  return { ...state, plainAskers: state.plainAskers.filter((other) => other !== asker) };
}

const isAlive = (asker: HolderId): boolean => !isHolderGone(asker);

const stopped = (state: NarrationState): NarrationState =>
  state.status === "running" ? { ...state, status: "stopped", problems: [CANCELLED] } : state;
