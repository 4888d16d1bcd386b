/** Narrations as tasks of the protocol's extension: looked at, gone on with and taken back by their handles, in any process. */
import { createHash } from "node:crypto";
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import type { TicketDesk, TicketStanding, WorkingTicket } from "../generation/tickets/standing.ts";
import { nameOfTicket, spellTicket } from "../generation/tickets/ticket-handle.ts";
import type { LedgerIdentity } from "../ledger/ledger-store.ts";
import type { KnownNarration, NarrationBook, Reckon } from "./narration-book.ts";
import type { NarrationState, NarrationTicket } from "./narration-state.ts";
import { leftByOthers, ticketCancelled, ticketOf } from "./narration-tickets.ts";
import { type NarrationView, viewWith } from "./narration-view.ts";
import { cancelledWords, progressOf } from "./narration-words.ts";

export interface TicketDeskDeps {
  readonly book: NarrationBook;
  readonly reckon: Reckon;
  readonly clock: Pick<Clock, "wallMs">;
  readonly identity: Pick<LedgerIdentity, "accountId" | "holder">;
  /** Whether this process is at work on it. */
  readonly isRunningHere: (narrationId: string) => boolean;
  /** Goes on with it, within its limit. */
  readonly start: (narrationId: string) => void;
  /** Tells this process's work what has been decided. */
  readonly refresh: (narrationId: string, state: NarrationState) => void;
}

const HANDLE = /^nar1-([0-9a-f]{32})-([0-9a-z]{1,11})-([0-9a-f]{32})$/;
const SEAL_DIGITS = 32;

interface Name {
  readonly narrationId: string;
  readonly openedAtMs: number;
}

interface Found {
  readonly handle: string;
  readonly known: KnownNarration;
  readonly ticket: NarrationTicket;
}

export class NarrationDesk implements TicketDesk<NarrationView> {
  readonly #deps: TicketDeskDeps;

  constructor(deps: TicketDeskDeps) {
    this.#deps = deps;
  }

  /** What a call is answered with that has just opened this ticket, or shares it. */
  async opened(narrationId: string, state: NarrationState, ticket: NarrationTicket): Promise<WorkingTicket> {
    const handle = this.#handle({ narrationId, openedAtMs: ticket.openedAtMs });
    return await this.#working({ handle, narrationId, state, ticket });
  }

  async look(handle: string): Promise<TicketStanding<NarrationView> | null> {
    const found = await this.#find(handle);
    if (found === null) return null;
    const { known, ticket } = found;
    const { narrationId, state, holder } = known;
    if (ticket.end !== null) return this.#ended(found, ticket.end);
    // Its process is gone: what was allowed is still allowed.
    if (holder === null && !this.#deps.isRunningHere(narrationId)) await this.#goOn(narrationId);
    return await this.#working({ handle, narrationId, state, ticket });
  }

  async cancel(handle: string): Promise<boolean> {
    const found = await this.#find(handle);
    if (found === null) return false;
    if (found.ticket.end !== null) return true;
    const { book, clock, reckon, refresh } = this.#deps;
    const { narrationId } = found.known;
    const { openedAtMs } = found.ticket;
    const figures = await reckon(found.known);
    const state = await book.change(narrationId, (before) =>
      ticketCancelled(before, openedAtMs, { figures, atMs: clock.wallMs() }),
    );
    refresh(narrationId, state);
    return true;
  }

  async #goOn(narrationId: string): Promise<void> {
    const { book, identity, start } = this.#deps;
    await book.change(narrationId, (before) => leftByOthers(before, identity.holder));
    start(narrationId);
  }

  async #find(handle: string): Promise<Found | null> {
    const name = this.#nameOf(handle);
    if (name === null) return null;
    try {
      const known = await this.#deps.book.get(name.narrationId);
      const ticket = ticketOf(known.state, name.openedAtMs);
      return ticket === undefined ? null : { handle, known, ticket };
    } catch (error) {
      if (error instanceof AudioError && error.code === "not_found") return null;
      throw error;
    }
  }

  #ended(
    { handle, known, ticket }: Found,
    end: NonNullable<NarrationTicket["end"]>,
  ): TicketStanding<NarrationView> {
    const head = { handle, createdAtMs: ticket.openedAtMs, updatedAtMs: end.atMs };
    if (end.kind === "cancelled") return { ...head, kind: "cancelled", message: cancelledWords(end) };
    const { status, problems, files, figures } = end;
    const state = { ...known.state, status, problems, files };
    return { ...head, kind: "done", view: viewWith({ ...known, state }, figures) };
  }

  async #working({
    handle,
    narrationId,
    state,
    ticket,
  }: Pick<Found, "handle" | "ticket"> & { narrationId: string; state: NarrationState }) {
    const createdAtMs = ticket.openedAtMs;
    const updatedAtMs = Math.max(createdAtMs, state.begunAtMs ?? 0);
    const { chargedCredits } = await this.#deps.book.bill(narrationId);
    const message = progressOf(state, chargedCredits, this.#deps.clock.wallMs());
    return { handle, createdAtMs, updatedAtMs, kind: "working" as const, message };
  }

  #handle({ narrationId, openedAtMs }: Name): string {
    const id = narrationId.replace(/^nar_/, "");
    return `nar1-${id}-${spellTicket(openedAtMs)}-${this.#seal({ narrationId, openedAtMs })}`;
  }

  #nameOf(handle: string): Name | null {
    const [, id, spelt] = HANDLE.exec(handle) ?? [];
    const openedAtMs = spelt === undefined ? null : nameOfTicket(spelt);
    if (id === undefined || openedAtMs === null) return null;
    const name = { narrationId: `nar_${id}`, openedAtMs };
    return this.#handle(name) === handle ? name : null;
  }

  /** Whoever knows the text knows the narration's id; only who has the API key knows this. */
  #seal({ narrationId, openedAtMs }: Name): string {
    const { accountId } = this.#deps.identity;
    const words = JSON.stringify(["narration ticket", accountId, narrationId, openedAtMs]);
    return createHash("sha256").update(words).digest("hex").slice(0, SEAL_DIGITS);
  }
}
